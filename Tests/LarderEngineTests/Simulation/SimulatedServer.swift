/// The state of an origin that other devices write to as well.
struct SimulatedServer: Sendable {
    struct Resource: Sendable {
        /// Nil: there is nothing.
        var value: PlainValue?
        var version = 0

        var etag: String { "\"\(version)\"" }
    }

    private(set) var resources: [String: Resource] = [:]
    /// How often it did what carried a key.
    private(set) var applied: [String: Int] = [:]
    /// What it answered 202 and has not done yet.
    private var promises: [(changes: [PlainModifier.Change], key: String)] = []
    let honoursKeys: Bool

    init(honoursKeys: Bool) {
        self.honoursKeys = honoursKeys
    }

    subscript(path: String) -> Resource { resources[path] ?? Resource() }

    mutating func write(_ path: String, _ value: PlainValue?) {
        resources[path] = Resource(value: value, version: self[path].version + 1)
    }

    mutating func promise(_ changes: [PlainModifier.Change], key: String) {
        promises.append((changes, key))
    }

    /// Does what was promised first; false where nothing was.
    mutating func keepPromise() -> Bool {
        guard !promises.isEmpty else { return false }
        let (changes, key) = promises.removeFirst()
        apply(changes, key: key)
        return true
    }

    /// Does what a modifier says; with keys honoured, once a key.
    mutating func apply(_ changes: [PlainModifier.Change], key: String) {
        guard !honoursKeys || applied[key] == nil else { return }
        applied[key, default: 0] += 1
        for change in changes {
            let view: PlainView =
                self[change.path].value.map { .value($0, isComplete: true) } ?? .deleted
            switch change.effect.applied(to: view) {
            case .value(let value, _): write(change.path, value)
            case .deleted: write(change.path, nil)
            case .unknown, nil: break
            }
        }
    }
}
