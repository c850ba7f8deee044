package import LarderModel
package import LarderStore
package import LarderWire

/// What a client on the raw routes gets.
package enum RawReply {
    case answer(RawAnswer)
    /// With the header fields that say what was tried.
    case problem(Problem, HeaderFields)
}

/// The origin's answer as one body.
package struct RawAnswer {
    package enum Body {
        case none
        case bytes([UInt8])
        /// It is kept in chunks.
        case stored(BodyReader)
        /// It comes from the origin as it is read; its length if the origin announced one.
        case passed(PassedBody, byteCount: Int64?)
    }

    package var status: Int
    /// Everything but the length.
    package var fields: HeaderFields
    package var body: Body
}

/// Why the network gives a client on the raw routes nothing that it wants.
enum RawFailure: Equatable, Sendable {
    case problem(Problem)
    /// The origin's own words, whole.
    case refused(OriginRefusal)
    /// The same, as they come.
    case passed(PassedHead)

    /// What the origin answered, if it did.
    var status: Int? {
        switch self {
        case .problem(let problem): problem.originStatus
        case .refused(let refusal): refusal.status
        case .passed(let head): head.status
        }
    }

    /// What Cache-Status calls it; nil where the status says it.
    var detail: String? {
        switch self {
        case .problem(let problem): problem.kind.rawValue
        case .refused, .passed: nil
        }
    }
}
