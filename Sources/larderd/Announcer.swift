import Glibc
import LarderEngine
import LarderModel
import LarderSystemd
import Logging

/// Tells systemd the state of the daemon, if systemd wants to know it.
///
/// A failure is logged: systemd will act on the missing notice, and the log has the reason.
struct Announcer {
    let notifier: ServiceNotifier?
    let logger: Logger

    /// The configuration is read again from now on; `ready` has to follow.
    func tellReloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        tell(.reloading(microseconds: Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000))
    }

    func tell(_ notice: ServiceNotice) {
        do throws(SystemdError) {
            try notifier?.send(notice)
        } catch {
            logger.warning("systemd was not told", metadata: .larder([.reason: "\(error.message)"]))
        }
    }
}
