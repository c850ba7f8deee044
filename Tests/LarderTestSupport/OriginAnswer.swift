import LarderModel

/// What an ``OriginServer`` does about one request, step by step.
package struct OriginAnswer: Sendable {
    package enum Step: Sendable {
        /// Sends bytes as they are, so also what is no HTTP.
        case send([UInt8])
        /// Goes on when the gate is open.
        case wait(Gate)
        /// Sends the same bytes for ever.
        case `repeat`([UInt8])
        /// Closes the connection.
        case close
    }

    package var steps: [Step]

    package init(_ steps: [Step]) {
        self.steps = steps
    }

    /// A whole answer with Content-Length.
    package static func reply(
        _ status: Int = 200,
        _ headers: [String: String] = [:],
        body: [UInt8] = []
    ) -> OriginAnswer {
        let bodiless = status == 304 || status == 204
        let length = bodiless ? [:] : ["Content-Length": "\(body.count)"]
        return OriginAnswer([.head(status, headers.merging(length) { own, _ in own }), .send(body)])
    }

    package static func text(
        _ body: String,
        status: Int = 200,
        headers: [String: String] = [:]
    ) -> OriginAnswer {
        let type = ["Content-Type": "text/plain"]
        return reply(status, headers.merging(type) { own, _ in own }, body: Array(body.utf8))
    }

    package static func json(
        _ body: String,
        status: Int = 200,
        headers: [String: String] = [:]
    ) -> OriginAnswer {
        let type = ["Content-Type": "application/json"]
        return reply(status, headers.merging(type) { own, _ in own }, body: Array(body.utf8))
    }

    /// A body in chunks (RFC 9112 7.1), one for each piece.
    package static func chunked(
        _ pieces: [String],
        headers: [String: String] = [:]
    ) -> OriginAnswer {
        let steps = pieces.map { OriginAnswer.Step.chunk(Array($0.utf8)) }
        let chunkedHead = headers.merging(["Transfer-Encoding": "chunked"]) { own, _ in own }
        return OriginAnswer([.head(200, chunkedHead)] + steps + [.chunk([])])
    }

    package static func redirect(to location: String, status: Int = 302) -> OriginAnswer {
        reply(status, ["Location": location])
    }

    /// Sends nothing and keeps the connection open until the server stops.
    package static var never: OriginAnswer { OriginAnswer([.wait(Gate())]) }

    /// Bytes as they are, and then the connection closed.
    package static func raw(_ bytes: String) -> OriginAnswer {
        OriginAnswer([.text(bytes), .close])
    }

    /// The same, but that nothing is sent before the gate is open.
    package func held(by gate: Gate) -> OriginAnswer {
        OriginAnswer([.wait(gate)] + steps)
    }
}

extension OriginAnswer.Step {
    package static func text(_ text: String) -> Self { .send(Array(text.utf8)) }

    /// Status line and header fields with the empty line after them.
    package static func head(_ status: Int, _ headers: [String: String]) -> Self {
        let fields = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }
        return .text("HTTP/1.1 \(status) Scripted\r\n\(fields.joined())\r\n")
    }

    /// One chunk; an empty one ends the body.
    package static func chunk(_ bytes: [UInt8]) -> Self {
        let size = Array("\(String(bytes.count, radix: 16))\r\n".utf8)
        return .send(size + bytes + Array("\r\n".utf8))
    }
}
