/// The kinds of frames that a watcher can choose, as they travel.
package enum WatchKind: String, CaseIterable, Sendable {
    case put
    case delete
    case evict
    case modifier
    case remapped
    case auth
    case origin
}
