package import LarderModel
package import LarderStore
import LarderStrategy
package import LarderUpstream
package import LarderWire
package import Logging
import Synchronization

/// Carries out what strategies decide, between one store, the origins, and any number of clients.
///
/// Every method may be called from any thread; those that take a ``StoreReader`` from the one that
/// owns it. Work that outlives a request (flights, housekeeping) runs inside ``run()``.
package final class Engine: Sendable {
    let context: EngineContext
    let flights = FlightTable()
    private let work = WorkQueue()
    let sessions = SessionList()
    let started: Duration
    /// The version that status tells.
    let version: String
    let maxBytes: Int64
    let meter: Mutex<HitMeter>

    package init(
        store: CacheStore,
        upstream: any Upstream,
        origins: [OriginSettings],
        clock: any EngineClock,
        random: any RandomNumberGenerator & Sendable,
        logger: Logger,
        version: String,
        maxBytes: ByteSize
    ) {
        context = EngineContext(
            store: store,
            upstream: upstream,
            clock: clock,
            origins: OriginTable(origins),
            random: random,
            logger: logger
        )
        started = clock.monotonic()
        meter = Mutex(HitMeter())
        self.version = version
        self.maxBytes = maxBytes.bytes
    }

    package var store: CacheStore { context.store }
    package var clock: any EngineClock { context.clock }
    package var logger: Logger { context.logger }

    /// Runs flights and housekeeping until ``stop()``.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepHouse() }
            await work.run(cancellingTheRest: true)
            group.cancelAll()
        }
    }

    /// Ends every fetch with its `end` frame and starts no more flights.
    package func drain() {
        context.isDraining = true
        sessions.drain()
    }

    /// Gives up what is still in the air; ``run()`` returns soon after.
    package func stop() {
        drain()
        work.finish()
    }

    /// A client's fetch.
    ///
    /// Frames go to `emit`, which says whether anybody still reads; what is
    /// returned is the problem that the client gets instead of any frame.
    ///
    /// `interest` ends when the client hangs up.
    package func fetch(
        _ command: FetchCommand,
        scope: ScopeKey,
        reader: StoreReader,
        interest: Interest,
        emit: @escaping (FetchFrame) async -> Bool
    ) async -> Problem? {
        guard let origin = context.origins.origin(of: command.url) else {
            return Problem(
                .unknownOrigin,
                "\(command.url.originText) belongs to no configured origin"
            )
        }
        let request = FetchRequest(command, origin: origin)
        let mailbox = Mailbox<FetchSession.Event>()
        guard let seat = sessions.add({ mailbox.post(.drainBegan) }) else {
            return Problem(.shuttingDown, "the daemon is ending")
        }
        defer { sessions.remove(seat) }
        let board = FlightBoard(context: context, table: flights, work: work)
        interest.whenGivenUp { mailbox.post(.hungUp) }
        var session = FetchSession(context, board, scope, request, mailbox, emit: emit)
        return await session.run(reader)
    }

    private func keepHouse() async {
        while (try? await clock.sleep(for: Limits.touchFlushTime)) != nil {
            do throws(StoreError) {
                try await store.maintain()
            } catch {
                logger.warning(
                    "housekeeping failed",
                    metadata: .larder([.reason: "\(error.message)"])
                )
            }
            updateMeter()
        }
    }

    func updateMeter() {
        let (hits, misses) = context.reads
        let now = clock.monotonic()
        meter.withLock { $0.advance(hits: hits, misses: misses, at: now) }
    }
}
