import LarderJSON
import LarderModel
package import LarderStore
package import LarderWire
import Synchronization

/// Takes in a body piece by piece, with bounded memory.
///
/// A small body stays in memory. A larger one goes into the store chunk by chunk while its digest
/// is computed.
///
/// Up to ``Limits/inlineJSONBytesMax`` bytes are also kept in memory: they tell whether the body is
/// JSON, and frames show them. If the store fails while a client waits for the body, the receiver
/// goes on in memory.
struct BodyReceiver: ~Copyable {
    struct ReceivedBody: Sendable {
        let summary: BodySummary
        /// Nil if neither the store nor the memory could take it.
        let body: NewBody?
        /// The whole body, if it is not too large to be shown.
        let bytes: [UInt8]?
        /// The error that kept it from the store; nil if it was stored, or not to be stored.
        let unstored: StoreError?
        /// Whether the body is a JSON text that was cut off; false unless `mayBeCutJSON` was given.
        let isCutOff: Bool
    }

    private let store: Store
    /// If false, nothing goes to disk, and a body that does not fit in memory is refused.
    private var isStored: Bool
    let name: TargetName
    /// Whether the body is for a pin, and is stored where pins are.
    let isPinning: Bool
    /// Whether a body that cannot be stored is still useful.
    private let goesOnInMemory: Bool
    private var limit: Int64
    private var unstored: StoreError?
    private var head: [UInt8] = []
    private var hasOverflown: Bool { digest.byteCount > Limits.inlineJSONBytesMax }
    private var chunk: [UInt8] = []
    private var upload: UploadID?
    private var digest = RunningDigest()
    private var ending: JSONEnding?

    init(
        _ store: Store,
        isStored: Bool,
        for name: TargetName,
        isPinning: Bool = false,
        goesOnInMemory: Bool = false,
        mayBeCutJSON: Bool = false
    ) {
        (self.name, self.isPinning) = (name, isPinning)
        self.store = store
        self.isStored = isStored
        self.goesOnInMemory = goesOnInMemory
        ending = mayBeCutJSON ? JSONEnding() : nil
        limit = isStored ? store.maxEntryBytes : Int64(Limits.inlineJSONBytesMax)
    }

    deinit { store.bodies.abandon(upload) }

    /// After a failure ``abandon()`` is the only thing left to call.
    mutating func take(_ piece: [UInt8], now: Timestamp) async throws(Problem) {
        digest.update(piece)
        ending?.take(piece)
        guard Int64(digest.byteCount) <= limit else {
            throw unstored.map { Problem($0) }
                ?? Problem(.entryTooLarge, "the body has more than \(limit) bytes")
        }
        if hasOverflown { head = [] } else { head += piece }
        guard isStored else { return }
        chunk += piece
        guard digest.byteCount > Limits.inlineBodyBytesMax else { return }
        while isStored, chunk.count >= Limits.inlineBodyBytesMax {
            let full = Array(chunk.prefix(Limits.inlineBodyBytesMax))
            chunk.removeFirst(full.count)
            try await append(full, now)
        }
    }

    var isOverLimit: Bool { unstored == nil && Int64(digest.byteCount) > limit }

    mutating func finish(now: Timestamp) async throws(Problem) -> ReceivedBody {
        if upload != nil, !chunk.isEmpty {
            let rest = chunk
            chunk = []
            try await append(rest, now)
        }
        let bytes = hasOverflown ? nil : head
        let summary = BodySummary(
            byteCount: digest.byteCount,
            digest: digest.digest(),
            isJSON: bytes.map { JSONValidator.accepts($0) } ?? false
        )
        let body = isStored ? upload.map { NewBody.uploaded($0) } ?? .inline(head) : nil
        upload = nil
        return ReceivedBody(
            summary: summary,
            body: body,
            bytes: bytes,
            unstored: unstored,
            isCutOff: ending.map { $0.isCutOff || bytes.map(JSONValidator.isCutOff) ?? false }
                ?? false
        )
    }

    mutating func abandon() {
        store.bodies.abandon(upload)
        upload = nil
    }

    private mutating func append(_ bytes: [UInt8], _ now: Timestamp) async throws(Problem) {
        do throws(StoreError) {
            if upload == nil {
                let (scope, id) = (name.scope, name.id)
                upload = try await store.bodies.begin(for: scope, id, isPinning: isPinning)
            }
            if let upload { try await store.bodies.append(bytes, to: upload, now: now) }
        } catch {
            // The store takes no more of the body, so it goes on in memory if all of it is there.
            guard goesOnInMemory, !hasOverflown else { throw Problem(error) }
            abandon()
            chunk = []
            isStored = false
            limit = Int64(Limits.inlineJSONBytesMax)
            unstored = error
        }
    }
}

/// A client's own blob on its way into the cache, piece by piece.
///
/// The store drops a blob that ends without ``finish()``.
package struct BlobUpload: ~Copyable {
    let context: EngineContext
    let mediaType: String?
    let ttl: Duration?
    let client: ClientTag?
    let condition: WriteCondition?
    var receiver: BodyReceiver

    package mutating func take(_ piece: [UInt8]) async throws(Problem) {
        try await receiver.take(piece, now: context.clock.now())
    }

    package consuming func finish() async throws(Problem) -> (put: PutReceipt, entityTag: String) {
        let now = context.clock.now()
        let taken = try await receiver.finish(now: now)
        var entry = Entry(id: receiver.name.id, kind: .blob, storedAt: now, body: taken.summary)
        entry.mediaType = mediaType
        entry.freshUntil = ttl.map { now.advanced(by: $0) }
        guard let body = taken.body else { preconditionFailure("a stored receiver has a body") }
        do throws(StoreError) {
            var new = NewEntry(scope: receiver.name.scope, entry: entry, body: body)
            new.client = client
            let receipt =
                receiver.isPinning
                ? try await context.store.pins.put(new, now: now, if: condition)
                : try await context.store.put(new, now: now, if: condition)
            return (receipt, entry.entityTag)
        } catch {
            context.store.bodies.abandon(body.upload)
            throw Problem(error)
        }
    }
}

/// Hands an answer's body, piece by piece, from the flight that reads it to the client, or a
/// write's body from the client to the origin.
///
/// The sending side reads no faster than the other takes the pieces.
///
/// Invariants:
/// 1. At most one piece is here: the next is offered after the last was taken.
/// 2. The first call of ``finish(isWhole:)`` decides the outcome; no piece is handed over after it.
package final class BodyPipe: Sendable {
    package struct BrokenOff: Error {}

    private let (pieces, offering) = AsyncStream<[UInt8]>.makeStream()
    private let (takings, taking) = AsyncStream<Void>.makeStream()
    private let (over, ending) = AsyncStream<Void>.makeStream()
    /// Whether all of the body was handed over; nil until it is over.
    private let isWhole = Mutex<Bool?>(nil)
    /// Whether the flight stores the body, too, and goes on without the client.
    let isStored: Bool

    package init(isStored: Bool = false) {
        self.isStored = isStored
    }

    /// Returns true once the piece was taken, and false if no more is wanted.
    ///
    /// Cancelling the calling task breaks the body off.
    package func offer(_ piece: [UInt8]) async -> Bool {
        if case .enqueued = offering.yield(piece) {
            for await _ in takings { return true }
        }
        finish(isWhole: false)
        return false
    }

    func next() async throws(BrokenOff) -> [UInt8]? {
        if isWhole.withLock({ $0 }) != false {
            for await piece in pieces {
                taking.yield()
                return piece
            }
        }
        guard isWhole.withLock({ $0 }) == true else { throw BrokenOff() }
        return nil
    }

    /// The body is over, or no more of it is wanted; neither side waits any longer.
    package func finish(isWhole: Bool) {
        self.isWhole.withLock { $0 = $0 ?? isWhole }
        offering.finish()
        taking.finish()
        ending.finish()
    }

    /// Hands over the last piece with the end of the body, without waiting for the client.
    func finish(with last: [UInt8]) {
        offering.yield(last)
        finish(isWhole: true)
    }

    /// Returns when it is over, or the calling task is cancelled.
    func untilOver() async {
        for await _ in over {}
    }
}

/// A body on its way to a client while the flight stores it.
///
/// The piece with the last byte waits until the body is stored. So a client that has all bytes
/// finds them in the cache.
struct StreamedBody {
    let pipe: BodyPipe
    /// Bytes that are still to come; nil if the origin announced no length.
    private var left: Int64?
    private var last: [UInt8]?

    init(_ pipe: BodyPipe, byteCount: Int64?) {
        (self.pipe, left) = (pipe, byteCount)
    }

    mutating func offer(_ piece: [UInt8]) async {
        left = left.map { $0 - Int64(piece.count) }
        if left == 0 { last = piece } else { _ = await pipe.offer(piece) }
    }

    /// The body will not be stored; the rest goes through the pipe.
    func release() async -> BodyPipe {
        if let last { _ = await pipe.offer(last) }
        return pipe
    }

    func finish() {
        if let last { pipe.finish(with: last) } else { pipe.finish(isWhole: true) }
    }
}

/// The client's end of a ``BodyPipe``: the rest of the body is given up when this goes, and the
/// origin's connection with it.
///
/// Read by one task.
package final class PassThroughBody: Sendable {
    let pipe: BodyPipe

    init(isStored: Bool = false) {
        pipe = BodyPipe(isStored: isStored)
    }

    deinit {
        pipe.finish(isWhole: false)
    }

    package func next() async throws(BodyPipe.BrokenOff) -> [UInt8]? {
        try await pipe.next()
    }

    package func giveUp() {
        pipe.finish(isWhole: false)
    }
}
