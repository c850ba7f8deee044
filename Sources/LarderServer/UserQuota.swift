import LarderAPI
import LarderModel
import NIOCore
import Synchronization

/// Amounts that requests and answers hold, counted by user.
///
/// A client decides how long its requests hold their amounts. A lock guards the counts.
final class UserQuota: Sendable {
    fileprivate let taken: Mutex<Quota<UInt32>>

    init(max: Int, each: Int) { taken = Mutex(Quota(max: max, each: each)) }

    /// An amount for a user; nil where there is no more.
    func take(_ amount: Int, for uid: UInt32) -> UserShare? {
        taken.withLock { $0.take(uid, amount) } ? UserShare(self, uid, amount) : nil
    }
}

/// An amount that was taken; it is given back with the last reference to it.
// Sendable: the number is changed by one task, which has the only reference then.
final class UserShare: @unchecked Sendable {
    private let quota: UserQuota
    private let uid: UInt32
    private var amount: Int

    fileprivate init(_ quota: UserQuota, _ uid: UInt32, _ amount: Int) {
        (self.quota, self.uid, self.amount) = (quota, uid, amount)
    }

    /// False where there is no more.
    func grow(to amount: Int) -> Bool {
        guard quota.taken.withLock({ $0.take(uid, amount - self.amount) }) else { return false }
        self.amount = amount
        return true
    }

    deinit { quota.taken.withLock { $0.release(uid, amount) } }
}

extension Exchange {
    /// The body as a whole, refused by its announced length before a byte of it is read, and by what
    /// comes when it hides that.
    ///
    /// Its memory counts until the exchange has ended.
    func wholeBody(upTo limit: Int) async throws(Problem) -> [UInt8] {
        let announced = announcedLength
        if let announced, announced > limit {
            throw Problem(
                .bodyTooLarge,
                "the body has \(announced) bytes, at most \(limit) are taken"
            )
        }
        let place = try enterUpload()
        defer { withExtendedLifetime(place) {} }
        var bytes: [UInt8] = []
        try reserve(Int(announced ?? 0), for: &bytes)
        while let piece = try await body.next() {
            let count = bytes.count + piece.readableBytes
            guard count <= limit else {
                throw Problem(.bodyTooLarge, "the body has more than \(limit) bytes")
            }
            if count > bytes.capacity { try reserve(min(2 * count, limit), for: &bytes) }
            bytes += piece.readableBytesView
        }
        return bytes
    }

    /// Whether the request has a body of at most `limit` bytes; one in chunks is read so far, and
    /// put back.
    func hasBody(upTo limit: Int) async throws(Problem) -> Bool {
        guard !RequestFraming(head).hasNoBody else { return false }
        if let announcedLength { return announcedLength <= Int64(limit) }
        let place = try enterUpload()
        defer { withExtendedLifetime(place) {} }
        // A copy, as each small piece keeps all bytes that were read with it.
        var start = ByteBuffer()
        while start.readableBytes <= limit, var piece = try await body.next() {
            start.writeBuffer(&piece)
        }
        body.putBack(start)
        return start.readableBytes <= limit
    }

    /// Has memory counted before it is taken.
    private func reserve(_ count: Int, for bytes: inout [UInt8]) throws(Problem) {
        if count > Limits.inlineBodyBytesMax {
            if let memory = body.memory {
                guard memory.grow(to: count) else { throw .memoryTaken }
            } else {
                body.memory = try hold(count)
            }
        }
        bytes.reserveCapacity(count)
    }

    /// Memory for what is in it as a whole; nil for what is too small to be counted.
    func hold(_ count: Int) throws(Problem) -> UserShare? {
        guard count > Limits.inlineBodyBytesMax else { return nil }
        guard let memory = server.memory.take(count, for: peer.uid) else { throw .memoryTaken }
        return memory
    }
}

extension Problem {
    fileprivate static var memoryTaken: Problem {
        Problem(
            .overloaded,
            "bodies and answers hold too much memory: at most \(Limits.heldBytesPerUserMax) bytes"
                + " of one user and \(Limits.heldBytesMax) in all are held at the same time",
            hint: "Send the rest of the other bodies, and read the other answers, first."
        )
    }
}

extension Exchange {
    /// A place for the body while it comes; nil for one that has come whole.
    func enterUpload() throws(Problem) -> UserShare? {
        guard !body.isWhole else { return nil }
        guard let place = server.uploads.take(1, for: peer.uid) else {
            throw Problem(
                .overloaded,
                "too many bodies are still coming: at most \(Limits.uploadsPerUserMax) of one user"
                    + " and \(Limits.uploadsMax) in all are received at the same time",
                hint: "Send the rest of the others first."
            )
        }
        return place
    }
}
