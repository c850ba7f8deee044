import Foundation

/// The file of the effects, one JSON line each.
///
/// A line is one write to the end of the file: it outlives the process, but not the machine.
struct EffectLog {
    private let path: String
    private let file: Int32

    init(path: String) throws(EffectLogError) {
        self.path = path
        file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw EffectLogError("cannot be opened", path) }
    }

    /// What was done, oldest first.
    func read() throws(EffectLogError) -> [Write] {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw EffectLogError("cannot be read", path)
        }
        var writes: [Write] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let write = Write(line: Array(line)) else {
                throw EffectLogError("has a line that is no effect", path)
            }
            writes.append(write)
        }
        return writes
    }

    func append(_ line: [UInt8]) throws(EffectLogError) {
        guard Foundation.write(file, line, line.count) == line.count else {
            throw EffectLogError("cannot be written", path)
        }
    }
}

struct EffectLogError: Error, CustomStringConvertible {
    let description: String

    init(_ words: String, _ path: String) {
        description = "\(path) \(words)"
    }
}
