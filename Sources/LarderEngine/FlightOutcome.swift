import LarderModel
import LarderWire

/// What a flight came to, with all that a client on the raw routes can be given of it.
enum FlightOutcome: Sendable {
    case landed(Landing)
    /// The origin answered with a status that is neither kept nor says that the thing is gone.
    case refused(OriginRefusal, Problem)
    /// The head of an answer whose body now goes through the plan's ``BodyHandover``.
    case passed(PassedHead)

    /// What those hear who have joined the flight of somebody else: nothing of cookies, which are for
    /// the one who has asked.
    var forOthers: FlightOutcome {
        switch self {
        case .landed(.current(var answer)):
            answer.cookies = HeaderFields()
            return .landed(.current(answer))
        case .refused(var refusal, let problem):
            refusal.cookies = HeaderFields()
            return .refused(refusal, problem)
        case .landed, .passed: return self
        }
    }

    /// The same for a stream of frames.
    var landing: Landing {
        switch self {
        case .landed(let landing): landing
        case .refused(_, let problem): .failed(problem)
        // A flight that passes its body on has one passenger, who is no stream of frames.
        case .passed: .failed(Problem(.internal, "a body was passed on to nobody"))
        }
    }
}

/// An origin's refusal in its own words, as far as they were read.
struct OriginRefusal: Equatable, Sendable {
    let status: Int
    /// The end-to-end header fields.
    let headers: HeaderFields
    /// What the origin sets at whoever has asked.
    var cookies = HeaderFields()
    let body: [UInt8]
    /// Whether that is the whole body.
    let isWhole: Bool
}

/// Status and end-to-end header fields of an answer that is passed on.
struct PassedHead: Equatable, Sendable {
    let status: Int
    let headers: HeaderFields
    /// What the origin sets at whoever has asked.
    var cookies = HeaderFields()
    /// The announced length, if there is one.
    let byteCount: Int64?
}
