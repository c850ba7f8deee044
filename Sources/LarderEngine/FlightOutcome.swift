import LarderModel
import LarderStore
import LarderWire

/// What a flight came to, told to everybody who waits for it.
enum FlightOutcome: Sendable {
    /// What the origin has now.
    case current(FlightAnswer)
    case deleted(Revision, status: Int)
    case failed(Problem)
    /// The origin answered with a status that is neither kept nor says that the thing is gone.
    case refused(OriginRefusal, Problem)
    /// The head of an answer whose body now goes through the plan's ``BodyHandover``.
    case passed(PassedHead)

    /// A deletion that cannot be written down is told all the same.
    init(unstoredDeletion status: Int, _ store: CacheStore) {
        do throws(StoreError) {
            self = .deleted(try store.nextRevision(), status: status)
        } catch {
            self = .failed(Problem(error))
        }
    }

    /// What those hear who have joined the flight of somebody else: nothing of cookies, which are for
    /// the one who has asked.
    var forOthers: FlightOutcome {
        switch self {
        case .current(var answer):
            answer.cookies = HeaderFields()
            return .current(answer)
        case .refused(var refusal, let problem):
            refusal.cookies = HeaderFields()
            return .refused(refusal, problem)
        case .deleted, .failed, .passed: return self
        }
    }

    /// What a frame says of where its answer came from.
    var occasion: FetchWord.Occasion {
        switch self {
        case .current(let answer):
            .network(status: answer.status, isStored: answer.isKept, cookies: answer.cookies)
        case .deleted(_, let status):
            .network(status: status, isStored: false, cookies: HeaderFields())
        case .failed, .refused, .passed:
            .cache()
        }
    }
}

/// What an origin has now.
struct FlightAnswer: Sendable {
    var entry: Entry
    /// Nil where they are in the store: a 304 has confirmed them, or they are more than a frame shows.
    let bytes: [UInt8]?
    /// The status that the origin answered with: 200, or 304.
    let status: Int
    /// Whether the store has it: else it is only told.
    var isKept = true
    /// Whether it is kept normalized: what it shows may be newer than its bytes.
    var isNormalized = false
    /// What the origin sets at whoever has asked: told to nobody else, and kept nowhere.
    var cookies = HeaderFields()
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
