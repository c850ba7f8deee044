import LarderModel

/// One follower's ear at its origin: hears that it is in another state than it was told last.
///
/// However often that changes before it is taken, it is told once. Used by one task; over when it
/// is gone.
final class OriginNews {
    private let name: OriginName
    private let hub: WatchHub
    private let flag = Flag()
    private let number: Int
    private var told: String

    /// `tell` is called when there is news, and not again before ``take()``.
    init(of name: OriginName, _ hub: WatchHub, _ tell: @escaping @Sendable () -> Void) {
        self.name = name
        self.hub = hub
        number = hub.hear(name) { [flag] in
            if flag.raise() { tell() }
        }
        told = hub.state(of: name)
    }

    deinit {
        hub.stopHearing(name, number)
    }

    /// The state that is to be told; nil where it was told last.
    func take() -> String? {
        flag.lower()
        let state = hub.state(of: name)
        guard state != told else { return nil }
        told = state
        return state
    }
}
