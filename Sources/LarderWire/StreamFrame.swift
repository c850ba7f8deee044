package import LarderModel

/// One step of a streamed answer: a line of JSON Lines, or an event.
package protocol StreamFrame: Sendable {
    /// What kind of step it is: the member `type` of its JSON.
    var type: String { get }
    /// The revision that it tells, if it does.
    var revision: Revision? { get }
    /// Whether it only says that the stream lives, and how far it is.
    var isHeartbeat: Bool { get }
    /// Its JSON, on one line and without the line's end.
    func encodedJSON() -> [UInt8]
}

extension StreamFrame {
    /// The frame as one line of JSON Lines, its line feed included.
    package func encodedLine() -> [UInt8] {
        encodedJSON() + [UInt8(ascii: "\n")]
    }
}
