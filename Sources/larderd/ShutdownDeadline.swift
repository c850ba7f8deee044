import Dispatch
import Glibc
import LarderEngine
import LarderModel
import Logging
import Synchronization

/// Ends the process when its end takes longer than ``Limits/endTime``, whatever the disk does.
///
/// The next start then finds the files as after a crash.
///
/// The limit waits for nothing that may be stuck: it has its own thread and takes no lock of other
/// code. Its log message is written on another thread.
final class ShutdownDeadline: Sendable {
    private let logger: Logger
    // Relaxed: it only keeps the end from being counted twice.
    private let hasBegun = Atomic<Bool>(false)
    private let speaking = DispatchQueue(label: "larder.end-notice")
    private let ending = DispatchQueue(label: "larder.end")
    /// EX_IOERR of sysexits(3): the disk does not finish.
    private static let exitCode: Int32 = 74

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// Starts the time limit; further calls do nothing.
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
