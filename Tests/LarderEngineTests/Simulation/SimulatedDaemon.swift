import LarderEngine
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Logging
import Synchronization

@testable import LarderStore

/// One life of the engine over its files, taken step by step.
final class SimulatedDaemon {
    /// Used on the thread of the simulation and nowhere else, as an event loop uses its own.
    struct LoopReader: @unchecked Sendable {
        let reader: StoreReader
    }

    let directory: TemporaryDirectory
    let store: Store
    let engine: Engine
    let loop: LoopReader
    private let executor = SteppedExecutor()
    private let running: ClientCall<Void>

    init(
        _ directory: TemporaryDirectory,
        _ settings: OriginSettings,
        _ origin: SimulatedOrigin,
        _ clock: ManualClock,
        _ faults: any FaultPlan,
        seed: UInt64
    ) throws {
        self.directory = directory
        var configuration = StoreConfiguration(
            cacheDirectory: directory.path("cache"),
            stateDirectory: directory.path("state")
        )
        configuration.reserveBytes = 0
        configuration.sentBases = .byValue
        configuration.faults = faults
        let store = try Store(configuration, now: { clock.now() }, newKeySeed: { 1 })
        self.store = store
        // What it does by itself at its start comes before everything else, in every run.
        store.alone {}
        engine = Engine(
            store: store,
            upstream: origin,
            origins: OriginTable([settings]),
            keeping: .none,
            clock: clock,
            random: SeededRandom(seed: seed),
            logger: Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() }),
            version: "1.2.3"
        )
        loop = LoopReader(reader: try store.makeReader())
        running = ClientCall(on: executor) { [engine] in await engine.run() }
    }

    /// Which file the `cache.db` is that is in use.
    var generation: Int64 { store.shared.generation.number }

    /// Whether there is one; where it could not be made, that is tried again after a while.
    var hasCache: Bool { store.shared.generation.hasFile }

    /// Takes one step, and whatever it asks of the files; false when there is none to be taken.
    func step(_ random: inout SeededRandom) -> Bool {
        store.alone {
            defer { loop.reader.endTransaction() }
            return executor.step(&random)
        }
    }

    /// Begins what a client asks for.
    func call<Value: Sendable>(
        _ work: @escaping @Sendable (Engine) async -> Value
    ) -> ClientCall<Value> {
        ClientCall(on: executor) { [engine] in await work(engine) }
    }

    /// Has the engine end, and the files with it if they are to be closed as at an orderly end.
    func end(_ random: inout SeededRandom, closing isClosing: Bool) {
        engine.stop()
        while step(&random) {}
        precondition(running.answer != nil, "the engine does not end")
        guard isClosing else { return }
        let closed = call { [store] _ in try? await store.close() }
        while step(&random) {}
        precondition(closed.answer != nil, "the store does not close")
    }
}

extension OriginStore {
    /// Nobody changes the origins.
    fileprivate static var none: OriginStore {
        OriginStore(
            read: { _, _ throws(Problem) in throw Problem(.unsupported, "not here") },
            save: { _ throws(Problem) in throw Problem(.unsupported, "not here") },
            remove: { _ throws(Problem) in throw Problem(.unsupported, "not here") }
        )
    }
}

/// Something that was begun in the steps of an executor, and what it has come to.
final class ClientCall<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)

    init(on executor: SteppedExecutor, _ work: @escaping @Sendable () async -> Value) {
        // It has no group that could own it: whoever holds the executor takes all of its steps.
        Task(executorPreference: executor) {
            let value = await work()
            self.result.withLock { $0 = value }
        }
    }

    var answer: Value? { result.withLock { $0 } }
}
