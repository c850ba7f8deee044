import ArgumentParser
import LarderClient
import LarderModel

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
func policyArgument(_ text: String) throws -> FetchOptions.Policy {
    guard let policy = FetchOptions.Policy(name: text) else {
        throw ValidationError(choice(text, of: FetchOptions.Policy.allCases.map(\.name)))
    }
    return policy
}

/// Reads the order of a list.
func orderArgument(_ text: String) throws -> EntryOrder {
    guard let order = EntryOrder(rawValue: text) else {
        throw ValidationError(choice(text, of: EntryOrder.allCases.map(\.rawValue)))
    }
    return order
}

/// Reads the state of a write.
func stateArgument(_ text: String) throws -> ModifierState {
    guard let state = ModifierState(rawValue: text) else {
        throw ValidationError(choice(text, of: ModifierState.allCases.map(\.rawValue)))
    }
    return state
}

private func choice(_ text: String, of known: [String]) -> String {
    let meant = nearestName(to: text, among: known).map { ", did you mean '\($0)'?" } ?? ""
    return "'\(text)' is none of \(known.joined(separator: ", "))\(meant)"
}
