package import LarderModel
import LarderStore
package import LarderWire

/// A client's own blob on its way into the cache, piece by piece.
///
/// Either ``finish()`` or ``abandon()`` is its end.
package struct BlobIntake: ~Copyable {
    /// What a put came to.
    package struct Receipt: Sendable {
        package let revision: Revision
        package let isNew: Bool
        package let entityTag: String
    }

    let context: EngineContext
    let id: EntryID
    let scope: ScopeKey
    let mediaType: String?
    let ttl: Duration?
    let isPinned: Bool
    let client: ClientTag?
    let condition: WriteCondition?
    var intake: BodyIntake

    package mutating func take(_ piece: [UInt8]) async throws(Problem) {
        do throws(BodyIntake.Failure) {
            try await intake.take(piece, now: context.clock.now())
        } catch {
            throw Problem(error)
        }
    }

    /// Stores what was taken; returns after the commit.
    package mutating func finish() async throws(Problem) -> Receipt {
        let now = context.clock.now()
        let taken: BodyIntake.Taken
        do throws(BodyIntake.Failure) {
            taken = try await intake.finish(now: now)
        } catch {
            intake.abandon()
            throw Problem(error)
        }
        var entry = Entry(
            id: id,
            kind: .blob,
            storedAt: now,
            revision: Revision(0),
            body: taken.summary
        )
        entry.mediaType = mediaType
        entry.freshUntil = ttl.map { now.advanced(by: $0) }
        guard let body = taken.body else { preconditionFailure("a stored intake has a body") }
        do throws(StoreError) {
            var new = NewEntry(scope: scope, entry: entry, body: body)
            new.client = client
            let receipt =
                isPinned
                ? try await context.store.pins.put(new, now: now, if: condition)
                : try await context.store.put(new, now: now, if: condition)
            return Receipt(
                revision: receipt.revision,
                isNew: receipt.isNew,
                entityTag: entry.entityTag
            )
        } catch {
            if case .uploaded(let upload) = body { context.store.bodies.abandon(upload) }
            throw Problem(error)
        }
    }

    package mutating func abandon() {
        intake.abandon()
    }
}
