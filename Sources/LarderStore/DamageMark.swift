import Glibc
import Synchronization

/// The note in the folder of a file that damage was met in it: the next start reads all of it.
final class DamageMark: Sendable {
    private let path: String
    private let met = Mutex<String?>(nil)

    init(of file: String) { path = file + ".damaged" }

    /// What met damage first since the start; nil while nothing has.
    var step: String? { met.withLock { $0 } }

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

    func remove() {
        met.withLock { $0 = nil }
        unlink(path)
    }
}
