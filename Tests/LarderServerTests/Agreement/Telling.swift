import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire

/// What one route tells of one id, aspect by aspect; an aspect that it says nothing of is not there.
struct Telling: Sendable {
    /// What can be told of an id.
    enum Aspect: String, Sendable {
        /// `shown`, `deleted` or `miss`.
        case content
        case isShown
        case status, body, bytes, etag, rev, age, stale, pending, ids, failed, complete, missing
        /// Whether only modifiers say it.
        case made
    }

    let route: String
    private(set) var said: [Aspect: String] = [:]

    init(_ route: String, miss: Bool = false) {
        self.route = route
        if miss { self[.content] = "miss" }
    }

    subscript(aspect: Aspect) -> String? {
        get { said[aspect] }
        set {
            said[aspect] = newValue
            if aspect == .content { said[.isShown] = "\(newValue == "shown")" }
        }
    }

    subscript(aspect: Aspect, else other: String) -> String { said[aspect] ?? other }

    /// What several of them say differently.
    static func disagreements(_ tellings: [Telling]) -> [String] {
        var found: [String] = []
        let aspects = Set(tellings.flatMap(\.said.keys)).sorted { $0.rawValue < $1.rawValue }
        for aspect in aspects {
            let saying = tellings.filter { $0[aspect] != nil }
            let said = Dictionary(grouping: saying) { $0[aspect] ?? "" }
            guard said.count > 1 else { continue }
            let words = said.map { text, tellings in
                "\(tellings.map(\.route).joined(separator: ", ")): \(text.prefix(200))"
            }
            found.append("\(aspect.rawValue) is told differently: \(words.sorted())")
        }
        return found
    }
}

extension Telling {
    init(_ route: String, _ frame: SnapshotFrame) {
        self.init(route)
        self[.content] = "shown"
        self[.made] = "\(frame.source == .modifier)"
        self[.status] = "\(frame.entry.status)"
        self[.etag] = frame.entry.etag
        self[.rev] = "\(frame.rev)"
        self[.age] = "\(frame.ageMs / 1_000)"
        self[.stale] = "\(frame.stale)"
        self[.pending] = "\(frame.pending)"
        self[.ids] = frame.pendingIDs.joined(separator: ", ")
        self[.failed] = "\(frame.failed)"
        self[.complete] = "\(frame.complete)"
        self[.missing] = (frame.missing ?? []).joined(separator: ", ")
        switch frame.entry.content {
        case .json(let bytes), .bytes(let bytes): take(bytes)
        case .href, nil: break
        }
    }

    init(_ route: String, _ frame: DeletedFrame) {
        self.init(route)
        self[.content] = "deleted"
        self[.made] = "\(frame.source == .modifier)"
        self[.status] = "\(frame.status)"
        self[.rev] = "\(frame.rev)"
    }

    /// The first frame of a stream, or what came in its place.
    init(_ route: String, _ frame: FetchFrame?, _ refusal: Problem?) throws {
        switch frame {
        case .snapshot(let frame)?: self.init(route, frame)
        case .deleted(let frame)?: self.init(route, frame)
        case .unchanged?, .problem?, .origin?, .heartbeat?, .end?, .other?:
            throw UnexpectedAnswer(text: "\(route) begins with \(String(describing: frame))")
        case nil:
            let kinds: [ProblemKind] = [.miss, .offline]
            guard let refusal, kinds.contains(refusal.kind) else {
                throw UnexpectedAnswer(text: "\(route): \(String(describing: refusal))")
            }
            self.init(route, miss: true)
        }
    }

    /// What an answer with the bytes in its body says in its headers.
    init(_ route: String, _ response: RawResponse, isHead: Bool = false) throws {
        self.init(route)
        let isRaw = route.hasPrefix("raw")
        guard response.status == 200 else {
            guard !isHead else {
                self[.content] = [410: "deleted", 404: "miss"][response.status] ?? "?"
                return
            }
            let problem = try Problem(decoding: response.body)
            switch problem.kind {
            case .miss: self[.content] = "miss"
            case .deleted:
                self[.content] = "deleted"
                self[.made] = "\(problem.detail.contains("by a write"))"
                if isRaw { self[.status] = "\(response.status)" }
            default: throw UnexpectedAnswer(text: "\(route): \(problem)")
            }
            return
        }
        self[.content] = "shown"
        self[.rev] = response.headers["Larder-Rev"]
        self[.pending] = response.headers["Larder-Pending"]
        self[.age] = response.headers["Age"]
        self[.etag] = response.headers["ETag"]
        self[.bytes] = response.headers["Content-Length"]
        if !isHead { take(response.body) }
        guard !isRaw else { return }
        self[.ids] = response.headers["Larder-Pending-Ids"] ?? ""
        self[.failed] = response.headers["Larder-Failed"] ?? "0"
        self[.complete] = response.headers["Larder-Complete"] ?? "true"
    }

    init(_ route: String, _ explanation: EntryExplanation) {
        self.init(route)
        let item = explanation.item
        self[.content] = item.kind == .tombstone ? "deleted" : "shown"
        self[.status] = "\(item.status)"
        self[.rev] = "\(item.rev)"
        guard item.kind != .tombstone else { return }
        self[.etag] = item.etag
        self[.stale] = "\(item.stale)"
        self[.bytes] = "\(item.bodyBytes)"
        self[.pending] = "\(explanation.pending.pending)"
        let pending = explanation.pending.modifiers.filter { $0.answered != true }
        self[.ids] = pending.map(\.id).joined(separator: ", ")
        guard let view = explanation.pending.view else { return }
        take(view)
    }

    private mutating func take(_ view: ViewReport) {
        switch view.state {
        case .unknown: self[.content] = "miss"
        case .deleted: self[.content] = "deleted"
        default:
            if let body = view.body {
                take(body.bytes)
                self[.complete] = "\(view.complete == true)"
            } else {
                self[.bytes] = "\(view.bodyBytes ?? 0)"
            }
        }
        if let body = view.body {
            take(body.bytes)
            self[.complete] = "\(view.complete == true)"
        }
        if let count = view.bodyBytes { self[.bytes] = "\(count)" }
    }

    private mutating func take(_ bytes: [UInt8]) {
        self[.body] = String(decoding: bytes, as: UTF8.self)
        self[.bytes] = "\(bytes.count)"
    }
}

/// An answer that no route should give here.
struct UnexpectedAnswer: Error {
    let text: String
}
