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

private func choice(_ text: String, of known: [String]) -> String {
    "'\(text)' is none of \(known.joined(separator: ", "))"
}
