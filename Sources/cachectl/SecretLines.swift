import ArgumentParser
import LarderAPI
import LarderModel

/// Values that may be secrets, which all users see among a command's arguments (ps(1)): `@FILE` and
/// `-` read them from a file or stdin.
enum SecretLines {
    /// The argument itself, or the lines of what it names that are not empty.
    static func read(_ argument: String) async throws -> [String] {
        guard isNamed(argument) else { return [argument] }
        let path = argument == "-" ? argument : String(argument.dropFirst())
        var bytes: [UInt8] = []
        for try await chunk in try InputFile(path) {
            bytes += chunk
            guard bytes.count <= Limits.requestHeaderBytesMax else {
                throw CommandFailure(
                    .failed,
                    "\(name(argument)) has more than \(Limits.requestHeaderBytesMax) bytes"
                )
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.failed, "\(name(argument)) is not UTF-8")
        }
        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
        guard !lines.isEmpty else { throw CommandFailure(.failed, "\(name(argument)) is empty") }
        return lines
    }

    /// Refuses a second `-` among the arguments of a command.
    static func check(_ arguments: [String]) throws {
        guard arguments.count(where: { $0 == "-" }) <= 1 else {
            throw ValidationError("- is given twice; stdin can be read once.")
        }
    }

    /// Whether the argument names where the values are.
    static func isNamed(_ argument: String) -> Bool {
        argument == "-" || argument.hasPrefix("@")
    }

    /// The place in words, for messages that do not repeat a secret.
    static func name(_ argument: String) -> String {
        argument == "-" ? "stdin" : String(argument.dropFirst())
    }
}

/// Arguments as they are meant, where `-` stands for the lines of stdin.
enum StandardInput {
    /// Each argument, and in the place of `-` each line that is not empty.
    static func lines(_ arguments: [String]) throws -> [String] {
        guard arguments.count(where: { $0 == "-" }) <= 1 else {
            throw ValidationError("- is given twice; stdin can be read once.")
        }
        return arguments.flatMap { argument in
            guard argument == "-" else { return [argument] }
            var lines: [String] = []
            while let line = readLine() {
                if !line.isEmpty { lines.append(line) }
            }
            return lines
        }
    }
}
