import Glibc

/// The reason why a run does not count.
enum LoadFailure: Error, CustomStringConvertible {
    case call(String, Int32)
    case status(Int)
    case closed
    case unreadable

    var description: String {
        switch self {
        case .call(let name, let code): "\(name): \(String(cString: strerror(code)))"
        case .status(let status): "an answer had the status \(status)"
        case .closed: "the server closed the connection"
        case .unreadable: "an answer has no Content-Length, or is no HTTP"
        }
    }
}

/// A blocking connection to a Unix socket.
struct Connection: Sendable {
    let descriptor: CInt

    init(_ path: String) throws(LoadFailure) {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw .call("socket", errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw .call(path, ENAMETOOLONG)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else { throw .call("connect to \(path)", errno) }
    }

    func send(_ bytes: [UInt8]) throws(LoadFailure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                write(descriptor, $0.baseAddress, $0.count)
            }
            guard count > 0 else { throw .call("write", errno) }
            sent += count
        }
    }

    /// Reads one whole answer and returns its status.
    func receive(_ buffer: inout AnswerBuffer) throws(LoadFailure) -> Int {
        while true {
            if let status = try buffer.takeAnswer() { return status }
            let count = buffer.fill { read(descriptor, $0.baseAddress, $0.count) }
            guard count != 0 else { throw .closed }
            guard count > 0 else { throw .call("read", errno) }
        }
    }
}

/// The bytes of answers that were received and not yet taken.
struct AnswerBuffer {
    private var bytes = [UInt8](repeating: 0, count: 65_536)
    private var count = 0

    /// Appends the bytes that `read` supplies.
    mutating func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        if count == bytes.count { bytes += [UInt8](repeating: 0, count: bytes.count) }
        let received = bytes[count...].withUnsafeMutableBytes(read)
        count += max(0, received)
        return received
    }

    /// Removes a whole answer and returns its status.
    mutating func takeAnswer() throws(LoadFailure) -> Int? {
        guard let headEnd = bytes[..<count].firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
        else {
            return nil
        }
        let lines = String(decoding: bytes[..<headEnd], as: UTF8.self).split(separator: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else { throw .unreadable }
        var length = status == 204 ? 0 : Int?.none
        for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
            length = Int(line.dropFirst(15).drop { $0 == " " })
        }
        guard let length else { throw .unreadable }
        guard count >= headEnd + length else { return nil }
        bytes.replaceSubrange(0..<headEnd + length, with: [])
        bytes += [UInt8](repeating: 0, count: headEnd + length)
        count -= headEnd + length
        return status
    }
}
