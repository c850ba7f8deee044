import LarderModel
package import LarderStore
package import LarderWire

/// A client's own blob on its way into the cache, piece by piece.
///
/// Either ``finish()`` or ``abandon()`` is its end.
package struct BlobIntake: ~Copyable {
    let context: EngineContext
    let mediaType: String?
    let ttl: Duration?
    let client: ClientTag?
    let condition: WriteCondition?
    var intake: BodyIntake

    package mutating func take(_ piece: [UInt8]) async throws(Problem) {
        try await intake.take(piece, now: context.clock.now())
    }

    package mutating func finish() async throws(Problem) -> (put: PutReceipt, entityTag: String) {
        let now = context.clock.now()
        let taken: BodyIntake.Taken
        do throws(Problem) {
            taken = try await intake.finish(now: now)
        } catch {
            intake.abandon()
            throw error
        }
        var entry = Entry(id: intake.goal.id, kind: .blob, storedAt: now, body: taken.summary)
        entry.mediaType = mediaType
        entry.freshUntil = ttl.map { now.advanced(by: $0) }
        guard let body = taken.body else { preconditionFailure("a stored intake has a body") }
        do throws(StoreError) {
            var new = NewEntry(scope: intake.goal.scope, entry: entry, body: body)
            new.client = client
            let receipt =
                intake.goal.isPinning
                ? try await context.store.pins.put(new, now: now, if: condition)
                : try await context.store.put(new, now: now, if: condition)
            return (receipt, entry.entityTag)
        } catch {
            if case .uploaded(let upload) = body { context.store.bodies.abandon(upload) }
            throw Problem(error)
        }
    }

    package mutating func abandon() {
        intake.abandon()
    }
}
