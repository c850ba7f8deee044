/// The state of an origin that other devices write to as well.
struct SimulatedServer: Sendable {
    struct Resource: Sendable {
        /// Nil: there is nothing.
        var value: PlainValue?
        var version = 0
        var hasWeakTag = false

        var etag: String { "\(hasWeakTag ? "W/" : "")\"\(version)\"" }
    }

    private(set) var resources: [String: Resource] = [:]
    /// The ids in the list, also those of what is not there.
    private(set) var listed: [String] = []
    /// The ids that it has given, and the one of each temporary id.
    private(set) var ids: [String] = []
    private(set) var created: [String: String] = [:]
    /// How often it did what carried a key.
    private(set) var applied: [String: Int] = [:]
    /// What it answered 202 and has not done yet.
    private var promises: [(work: Work, key: String)] = []
    let honoursKeys: Bool
    /// Whether its ETags are weak, so that no write can name one in an If-Match (RFC 9110 13.1.1).
    let hasWeakTags: Bool

    init(honoursKeys: Bool, hasWeakTags: Bool = false) {
        (self.honoursKeys, self.hasWeakTags) = (honoursKeys, hasWeakTags)
    }

    subscript(path: String) -> Resource { resources[path] ?? Resource() }

    mutating func write(_ path: String, _ value: PlainValue?) {
        resources[path] = Resource(
            value: value,
            version: self[path].version + 1,
            hasWeakTag: hasWeakTags
        )
    }

    /// The list as the server tells it.
    var rows: [PlainValue.Row] {
        listed.compactMap { id in
            self[PlainQueue.path(of: id)].value.map { PlainValue.Row(id: id, value: $0) }
        }
    }

    mutating func list(_ id: String, _ isListed: Bool) {
        listed.removeAll { $0 == id }
        if isListed { listed.append(id) }
    }

    /// The change that a request asks the server for.
    enum Work {
        case request(PlainRequest, of: String)
        /// What a POST does that does not say so.
        case changes([PlainModifier.Change])
    }

    mutating func promise(_ work: Work, key: String) {
        promises.append((work, key))
    }

    /// Does what was promised first; false where nothing was.
    mutating func keepPromise() -> Bool {
        guard !promises.isEmpty else { return false }
        let (work, key) = promises.removeFirst()
        apply(work, key: key)
        return true
    }

    /// Does what a request asks for; with keys honoured, once a key.
    mutating func apply(_ work: Work, key: String) {
        guard !honoursKeys || applied[key] == nil else { return }
        applied[key, default: 0] += 1
        switch work {
        case .request(let request, let path): write(path, request.applied(to: view(path)))
        case .changes(let changes):
            for change in changes {
                switch change.effect {
                case .addObject(let id, let object, _):
                    add(PlainQueue.isTemporary("/" + id) ? newID(of: id) : id, object)
                case .place: break
                case _:
                    let path = current(change.path)
                    write(path, change.effect.applied(to: view(path)))
                }
            }
        }
    }

    private mutating func newID(of temporary: String) -> String {
        let id = "n\(ids.count + 1)"
        ids.append(id)
        created[temporary] = id
        return id
    }

    /// The path of an entity that may have a temporary id.
    func current(_ path: String) -> String {
        created[String(path.dropFirst())].map { PlainQueue.path(of: $0) } ?? path
    }

    /// A new object, or new members of one that is there.
    private mutating func add(_ id: String, _ object: PlainValue) {
        let path = PlainQueue.path(of: id)
        var value = self[path].value ?? PlainValue()
        value.members.merge(object.members) { $1 }
        write(path, value)
        if !listed.contains(id) { list(id, true) }
    }

    private func view(_ path: String) -> PlainView {
        self[path].value.map { .value($0, isComplete: true) } ?? .deleted
    }

    private mutating func write(_ path: String, _ view: PlainView?) {
        switch view {
        case .value(let value, _): write(path, value)
        case .deleted: write(path, nil as PlainValue?)
        case .unknown, nil: break
        }
    }
}
