import ArgumentParser
import LarderAPI
import LarderClient
import LarderModel
import LarderWire

/// Reads `7d`, `10s`, `300ms`.
func durationArgument(_ text: String) throws -> Duration {
    do throws(ModelError) {
        return try Duration(unit: text)
    } catch {
        throw ValidationError(error.message)
    }
}

/// Reads `500MiB`, `1GiB`.
func sizeArgument(_ text: String) throws -> Int64 {
    do throws(ModelError) {
        return try ByteSize(unit: text).bytes
    } catch {
        throw ValidationError(error.message)
    }
}

/// Reads a policy's name.
func policyArgument(_ text: String) throws -> LarderAPI.FetchPolicy {
    try wireArgument(text)
}

/// Reads the order of a list.
func orderArgument(_ text: String) throws -> EntryOrder {
    try wireArgument(text)
}

/// Reads a value that the API knows.
private func wireArgument<Value: WireEnum>(_ text: String) throws -> Value {
    let value = Value(rawValue: text)
    guard Value.known.contains(value) else {
        throw ValidationError(choice(text, of: Value.known.map(\.rawValue)))
    }
    return value
}

/// Reads the state of a write.
func stateArgument(_ text: String) throws -> LarderAPI.ModifierState {
    let states = LarderAPI.ModifierState.known
    guard let state = states.first(where: { $0.rawValue == text }) else {
        throw ValidationError(choice(text, of: states.map(\.rawValue)))
    }
    return state
}

private func choice(_ text: String, of known: [String]) -> String {
    let meant = nearestName(to: text, among: known).map { ", did you mean '\($0)'?" } ?? ""
    return "'\(text)' is none of \(known.joined(separator: ", "))\(meant)"
}
