package import LarderModel
package import LarderUpstream

/// What a ``ScriptedUpstream`` does about one request.
package struct ScriptedAnswer: Sendable {
    package enum Piece: Sendable {
        case bytes([UInt8])
        /// Goes on when the gate is open.
        case hold(Gate)
        case failure(UpstreamError)
    }

    package enum Outcome: Sendable {
        case reply(status: Int, headers: HeaderFields, [Piece])
        case failure(UpstreamError)
    }

    package var outcome: Outcome
    /// Nothing happens before it is open.
    package var gate: Gate?

    package init(_ outcome: Outcome, gate: Gate? = nil) {
        self.outcome = outcome
        self.gate = gate
    }

    /// An answer with the body in one piece, or none where it is empty.
    package static func reply(
        _ body: String = "",
        status: Int = 200,
        headers: [String: String] = [:]
    ) -> ScriptedAnswer {
        reply(pieces: body.isEmpty ? [] : [.bytes(Array(body.utf8))], status, headers)
    }

    package static func reply(
        pieces: [Piece],
        _ status: Int = 200,
        _ headers: [String: String] = [:]
    ) -> ScriptedAnswer {
        let fields = headers.sorted { $0.key < $1.key }
            .map { HeaderFields.Field(name: $0.key, value: $0.value) }
        return ScriptedAnswer(.reply(status: status, headers: HeaderFields(fields), pieces))
    }

    package static func json(
        _ body: String,
        status: Int = 200,
        headers: [String: String] = [:]
    ) -> ScriptedAnswer {
        let type = ["Content-Type": "application/json"]
        return reply(body, status: status, headers: headers.merging(type) { own, _ in own })
    }

    package static func failure(_ error: UpstreamError) -> ScriptedAnswer {
        ScriptedAnswer(.failure(error))
    }

    /// The same, but that it is held until the gate is open.
    package func held(by gate: Gate) -> ScriptedAnswer {
        ScriptedAnswer(outcome, gate: gate)
    }
}
