import Glibc
import LarderEngine
import LarderModel
import LarderSystemd
import Logging

/// Tells systemd how the daemon is, where it wants to know.
///
/// That it cannot be told is logged: it will act on its silence, and the reason must stand
/// somewhere.
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
