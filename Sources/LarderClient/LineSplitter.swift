import LarderModel

/// Cuts a stream of bytes into its lines; blank ones are left out.
struct LineSplitter {
    private var bytes: [UInt8] = []
    /// What of `bytes` was given out already.
    private var start = 0
    /// Up to where there is no line feed after `start`.
    private var searched = 0

    /// Whether the stream would end in the middle of a line here.
    var hasRest: Bool {
        bytes[start...].contains { $0 != UInt8(ascii: "\r") }
    }

    mutating func append(_ chunk: some Collection<UInt8>) {
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes.append(contentsOf: chunk)
    }

    /// The next whole line without its end; nil until more bytes are here.
    mutating func next() throws(LarderError) -> [UInt8]? {
        while let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = bytes[start..<end]
            start = end + 1
            searched = start
            guard line.allSatisfy({ $0 == UInt8(ascii: "\r") }) else { return Array(line) }
        }
        searched = bytes.endIndex
        guard searched - start <= Limits.frameBytesMax else {
            throw .badAnswer("a line of more than \(Limits.frameBytesMax) bytes")
        }
        return nil
    }
}
