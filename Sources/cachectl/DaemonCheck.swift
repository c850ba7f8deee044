import LarderClient
import Synchronization

/// Asks while a command waits whether the daemon still answers, and ends the command if not: one
/// that hangs takes connections and is silent, like one that cannot start and whose socket systemd
/// keeps.
final class DaemonCheck: Sendable {
    /// How long a command waits before it asks whether the daemon still answers.
    private static let pause = Duration.seconds(10)
    /// How long that answer may take: only a daemon that hangs, or whose disk does, is later.
    private static let answerTime = Duration.seconds(20)

    private let silence = Mutex<LarderError?>(nil)
    private let client: LarderClient

    init(of client: LarderClient) {
        self.client = client
    }

    /// Why it has ended the command; nil where it has not.
    var error: LarderError? { silence.withLock { $0 } }

    /// Goes on until it is cancelled or closes the client's connections.
    func run() async {
        while (try? await Task.sleep(for: Self.pause)) != nil {
            guard await isSilent(), !Task.isCancelled else { continue }
            let path = client.socketInUse ?? ""
            let reason = "it takes connections and does not answer"
            silence.withLock { $0 = .unreachable([SocketFailure(path: path, reason: reason)]) }
            return await client.shutdown()
        }
    }

    /// Whether an answer takes too long; any answer counts, a refusal too.
    private func isSilent() async -> Bool {
        await withTaskGroup(of: Bool.self) { [client] group in
            group.addTask {
                _ = try? await client.status()
                return false
            }
            group.addTask { (try? await Task.sleep(for: Self.answerTime)) != nil }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}
