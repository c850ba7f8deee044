import Dispatch
import Glibc
import LarderEngine
import LarderModel
import Logging
import Synchronization

/// Ends the process when its end takes longer than ``Limits/endTime``, whatever the disk does: what
/// was under way then is as after a crash.
///
/// What ends it waits for nothing that may be stuck: it has a thread of its own, takes no lock of
/// another's, and what is said of it is said on another thread.
final class EndLimit: Sendable {
    private let logger: Logger
    // Relaxed: it only keeps the end from being counted twice.
    private let hasBegun = Atomic<Bool>(false)
    private let speaking = DispatchQueue(label: "larder.end-notice")
    private let ending = DispatchQueue(label: "larder.end")
    /// Of sysexits(3): the disk is what does not come to its end.
    private static let exitCode: Int32 = 74

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// The end has begun; again is no harm.
    func begin() {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        let time = Limits.endTime
        speaking.asyncAfter(deadline: .now() + .milliseconds(Int(time.milliseconds) - 500)) {
            [logger] in
            logger.error(
                "the end takes too long",
                metadata: .larder([
                    .reason: "a disk does not answer: what is under way will be as after a crash"
                ])
            )
        }
        ending.asyncAfter(deadline: .now() + .milliseconds(Int(time.milliseconds))) {
            _exit(Self.exitCode)
        }
    }
}
