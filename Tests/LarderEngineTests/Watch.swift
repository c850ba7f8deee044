import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine

/// One watcher in a task of its own.
final class Watch: Sendable {
    private let told = Recorder<WatchFrame>()
    private let beats = Recorder<Revision>()
    private let holds = Recorder<Bool>()
    private let ended = Gate()
    private let cancellation = ClientCancellation()
    let scope: Scope

    /// Returns once it has its first frame; `gate` holds it up at its second.
    init(
        _ fixture: EngineFixture,
        as user: Scope? = nil,
        client: ClientTag? = nil,
        holding gate: Gate? = nil,
        _ adjust: (inout WatchOrder) -> Void = { _ in }
    ) async throws {
        var command = WatchOrder()
        adjust(&command)
        let (told, beats, holds, ended) = (told, beats, holds, ended)
        scope = user ?? .own(uid: 1_000, account: command.account)
        let (engine, cancellation) = (fixture.engine, cancellation)
        let scope = engine.store.key(for: scope)
        let isTaken = engine.context.work.add { [command] in
            _ = await engine.watches.watch(
                command,
                scope: scope,
                client: client,
                cancellation: cancellation,
                emit: { frames in
                    if case .heartbeat(let beat) = frames[0] {
                        beats.record(beat.revision)
                        return true
                    }
                    if !told.all.isEmpty, let gate {
                        holds.record(true)
                        _ = try? await gate.wait()
                    }
                    for frame in frames { told.record(frame) }
                    return true
                }
            )
            ended.open()
        }
        #expect(isTaken)
        _ = try await told.element(0)
    }

    /// The first so many frames.
    func frames(upTo count: Int) async throws -> [WatchFrame] {
        _ = try await told.element(count - 1)
        return Array(told.all.prefix(count))
    }

    /// All, once it has come to its end.
    func all() async throws -> [WatchFrame] {
        try await ended.wait()
        return told.all
    }

    func isHeld() async throws { _ = try await holds.element(0) }
    /// How far its heartbeats say that it is.
    func beat(_ index: Int) async throws -> Revision { try await beats.element(index) }
    func hangUp() { cancellation.giveUp() }

    deinit { cancellation.giveUp() }
}

extension WatchFrame {
    var encodedText: String { String(decoding: encodedJSON(), as: UTF8.self) }

    /// What it is, and of what.
    var name: String {
        switch self {
        case .put(let change), .delete(let change): "\(type) \(change.id)"
        case .evict(let eviction): "\(type) \(eviction.id)"
        case .modifier(let modifier): "\(type) \(modifier.state)"
        case .remapped(let change): "\(type) \(change.from) \(change.to)"
        case .auth(let auth): "\(type) \(auth.state)"
        case .origin(let origin): "\(type) \(origin.state)"
        case .prefetch(let set): "\(type) \(set.name) \(set.state)"
        case .end(let end): "\(type) \(end.outcome)"
        case .bookmark, .lagged, .heartbeat, .other: type
        }
    }
}

extension EngineFixture {
    /// Watches in this task; the problem that the client gets in place of a stream.
    func watch(
        _ command: WatchOrder,
        emit: @escaping ([WatchFrame]) async -> Bool = { _ in true }
    ) async -> Problem? {
        await engine.watches.watch(
            command,
            scope: scope,
            client: nil,
            cancellation: ClientCancellation(),
            emit: emit
        )
    }

    /// Puts a client's own text.
    @discardableResult
    func putBlob(
        _ id: String,
        _ text: String,
        as scope: Scope = Self.scope,
        client: ClientTag? = nil
    ) async throws -> Revision {
        var intake = try engine.entries.take(
            EntryID(id),
            engine.store.key(for: scope),
            mediaType: nil,
            ttl: nil,
            client: client
        )
        try await intake.take(Array(text.utf8))
        return try await intake.finish().put.revision
    }
}
