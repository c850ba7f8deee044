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

/// Reads a value that the API knows.
func wireArgument<Value: WireEnum>(_ text: String) throws -> Value {
    let value = Value(rawValue: text)
    if Value.known.contains(value) { return value }
    let known = Value.known.map(\.rawValue)
    let meant = nearestName(to: text, among: known).map { ", did you mean '\($0)'?" } ?? ""
    throw ValidationError("'\(text)' is none of \(known.joined(separator: ", "))\(meant)")
}

/// An entry as a user names it: a URL if the text has `://`, else an id.
enum EntryArgument: Equatable {
    case url(String)
    case id(String)

    init(_ text: String) {
        self = text.contains("://") ? .url(text) : .id(text)
    }

    /// The URL that was meant, where the id looks like one without its scheme: `localhost:8080/x`,
    /// `example.com/x`.
    var meantURL: String? {
        guard case .id(let text) = self, !text.contains(" ") else { return nil }
        let authority = text.prefix { $0 != "/" && $0 != "?" }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty else { return nil }
        let hasPort = parts.count == 2 && UInt16(parts[1]) != nil
        guard parts.count == 1 || hasPort else { return nil }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            !label.isEmpty && label.utf8.allSatisfy { $0 == 0x2D || Self.isAlphanumeric($0) }
        }
        let isNumber = labels.count == 4 && labels.allSatisfy { UInt8($0) != nil }
        let isLocal = host == "localhost" || isNumber
        // Without a path it may as well be a key, `User:42`, or a name, `notes.txt`.
        guard isName, isLocal || text.contains("/"), isLocal || labels.count > 1 || hasPort else {
            return nil
        }
        let scheme = isLocal || hasPort ? "http" : "https"
        return (try? WebURL("\(scheme)://\(text)")).map(\.text)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    /// The id in its one spelling; a text that cannot be an id stays as it is.
    var rowID: String {
        switch self {
        case .id(let text), .url(let text): (try? EntryID(given: text))?.description ?? text
        }
    }
}
