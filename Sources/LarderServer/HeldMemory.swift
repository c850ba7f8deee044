import LarderModel
import LarderWire
import NIOCore
import Synchronization

/// The memory that requests and answers hold as a whole for their clients, counted by users: each
/// stays for as long as its client pleases.
///
/// Guarded by a lock.
final class HeldMemory: Sendable {
    private let taken = Mutex(
        Shares<UInt32>(max: Limits.heldBytesMax, each: Limits.heldBytesPerUserMax)
    )

    /// Memory for a user; nil where there is no more.
    func take(_ bytes: Int, for uid: UInt32) -> HeldBytes? {
        grow(by: bytes, uid) ? HeldBytes(bytes, self, uid) : nil
    }

    fileprivate func grow(by bytes: Int, _ uid: UInt32) -> Bool {
        taken.withLock { $0.take(uid, bytes) }
    }

    fileprivate func giveBack(_ bytes: Int, _ uid: UInt32) {
        taken.withLock { $0.giveBack(uid, bytes) }
    }
}

/// Memory that was taken; it is given back with the last reference to it.
// Sendable: the number is changed by one task, which has the only reference then.
final class HeldBytes: @unchecked Sendable {
    private let memory: HeldMemory
    private let uid: UInt32
    private(set) var bytes: Int

    fileprivate init(_ bytes: Int, _ memory: HeldMemory, _ uid: UInt32) {
        self.bytes = bytes
        self.memory = memory
        self.uid = uid
    }

    /// False where there is no more.
    func grow(to bytes: Int) -> Bool {
        guard memory.grow(by: bytes - self.bytes, uid) else { return false }
        self.bytes = bytes
        return true
    }

    deinit { memory.giveBack(bytes, uid) }
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
        defer { place?.leave() }
        var bytes: [UInt8] = []
        try reserve(Int(announced ?? 0), for: &bytes)
        while let piece = try await nextPiece() {
            let count = bytes.count + piece.readableBytes
            guard count <= limit else {
                throw Problem(.bodyTooLarge, "the body has more than \(limit) bytes")
            }
            if count > bytes.capacity { try reserve(min(2 * count, limit), for: &bytes) }
            bytes += piece.readableBytesView
        }
        return bytes
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
    func hold(_ count: Int) throws(Problem) -> HeldBytes? {
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
                + " of one user and \(Limits.heldBytesMax) in all are held at once",
            hint: "Send the rest of the other bodies, and read the other answers, first."
        )
    }
}
