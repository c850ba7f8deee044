import ArgumentParser
import Glibc
import LarderClient
import LarderModel

/// Words that a shell offers for an argument; most are asked of the daemon.
///
/// A person waits for them after a key: without a daemon, or without its answer within
/// ``Limits/completionTime``, there are none.
enum DaemonWords {
    static let origins = words { client, _, _ in try await client.origins().map(\.name) }

    /// Names of sets that are fetched in advance.
    static let sets = words { client, _, _ in try await client.prefetches().map(\.name) }

    /// Ids of the writes that the subcommand works on.
    static let writes = words { client, _, typed in
        try await client.modifiers(selection(typed), limit: Limits.completionWordsMax).items
            .map(\.id)
    }

    private static func selection(_ typed: [String]) -> ModifierSelection {
        switch typed.drop(while: { $0 != "queue" }).dropFirst().first {
        case "retry", "drop": .state(.failed)
        case "cancel": .unsettled
        default: .open
        }
    }

    /// Ids of entries that begin with what was typed.
    static let ids = words { client, prefix, _ in
        try await client.entries(prefix: prefix, limit: Limits.completionWordsMax).items.map(\.id)
    }

    /// Lanes that are paused or have writes; `name:` and `id:` may be left out.
    static let lanes = words { client, prefix, _ in
        async let paused = client.pausedLanes()
        async let writes = client.modifiers(limit: Limits.completionWordsMax)
        let lanes = try await paused.map(\.lane) + writes.items.flatMap(\.lanes)
        return lanes.map { lane in
            lane.hasPrefix(prefix) ? lane : String(lane.drop { $0 != ":" }.dropFirst())
        }
    }

    /// Numbers of users who have writes or entries; the daemon tells them to administrators.
    static let users = words { client, _, _ in
        async let writes = client.modifiers(limit: Limits.completionWordsMax, scope: .all)
        async let usage = client.usage(scope: .all)
        let users = try await writes.items.map(\.user) + usage.byUser.compactMap(\.user)
        return Set(users).sorted().map(String.init)
    }

    /// The values of a wire's enumeration, for which no daemon is asked.
    static func values<Value: WireEnum>(_: Value.Type) -> CompletionKind {
        .list(Value.known.map(\.rawValue))
    }

    /// `ask` gets the client, the word that was begun, and all words of the command line.
    private static func words(
        _ ask: @escaping @Sendable (LarderClient, String, [String]) async throws -> [String]
    ) -> CompletionKind {
        .custom { (typed: [String], _: Int, prefix: String) async -> [String] in
            let timer = Task {
                try await Task.sleep(for: Limits.completionTime)
                // Nothing has been printed.
                _exit(0)
            }
            let client = LarderClient(socket: location(typed))
            let found = try? await ask(client, prefix, typed)
            timer.cancel()
            await client.shutdown()
            return (found ?? []).filter { $0.hasPrefix(prefix) }.unique
                .prefix(Limits.completionWordsMax).map(escaped)
        }
    }

    /// The word as the shell reads it: zsh takes what comes after a colon for a description.
    private static func escaped(_ word: String) -> String {
        guard CompletionShell.requesting == .zsh else { return word }
        return word.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
    }

    /// The daemon that the command line names.
    private static func location(_ typed: [String]) -> SocketLocation {
        if typed.contains("--system") { return .system }
        if typed.contains("--user") { return .user }
        let option = "--socket"
        if let place = typed.firstIndex(of: option), place + 1 < typed.endIndex {
            return .path(typed[place + 1])
        }
        if let word = typed.first(where: { $0.hasPrefix(option + "=") }) {
            return .path(String(word.dropFirst(option.utf8.count + 1)))
        }
        return .found
    }
}

extension Limits {
    /// A shell's user waits for it at each press of a key.
    fileprivate static let completionTime = Duration.milliseconds(200)
    /// More words than a person reads.
    fileprivate static let completionWordsMax = 50
}
