import LarderModel
import LarderStore
import LarderWire

extension Problem {
    /// Why a modifier is dead, as watchers are told it.
    init(deadLetter modifier: StoredModifier, _ reason: ModifierReason, _ answer: StoredAnswer?) {
        let request = "\(modifier.method) \(modifier.url)"
        switch reason {
        case .refused:
            let status = answer.map { "answered \($0.status)" } ?? "refused"
            self.init(.originStatus, "\(request) was \(status)")
        case .attempts: self.init(.notApplied, "\(request) was tried as often as it may be")
        case .expired: self.init(.notApplied, "\(request) was not sent before it expired")
        case .parentFailed:
            self.init(.notApplied, "\(request) depends on one that was not applied")
        case .discarded:
            self.init(.notApplied, "\(request) was given up; the origin may have applied it")
        case .cancelled: self.init(.notApplied, "\(request) was given up before it was sent")
        case .unreadable: self = .unreadableModifier
        }
        originStatus = answer?.status
        guard let body = answer?.body, !body.isEmpty else { return }
        quotedBody = Array(body.prefix(Limits.toldAnswerBytesMax))
    }

    /// A modifier's row cannot be read any more.
    static let unreadableModifier = Problem(
        .notApplied,
        "its row cannot be read, or was written by a later version"
    )
}
