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

    func tell(_ notice: ServiceNotice) {
        do throws(SystemdError) {
            try notifier?.send(notice)
        } catch {
            logger.warning("systemd was not told", metadata: .larder([.reason: "\(error.message)"]))
        }
    }
}
