import Glibc
import Synchronization

/// The note beside a file that damage was met in it while it was in use: the next start reads all of
/// it, however large it is.
final class DamageMark: Sendable {
    private let path: String
    private let met = Mutex<String?>(nil)

    init(of file: String) { path = file + ".damaged" }

    /// What met damage first since the start; nil while nothing has.
    var step: String? { met.withLock { $0 } }

    /// Whether one is there, be it of an earlier process.
    var isThere: Bool { path.isThere }

    func set(by step: String) {
        let isFirst = met.withLock { met in
            defer { met = met ?? step }
            return met == nil
        }
        guard isFirst else { return }
        // On a full disk a name alone still finds room, as a rule; the status says it all the same.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// To be called once the file was found whole, or was salvaged.
    func remove() {
        met.withLock { $0 = nil }
        unlink(path)
    }
}
