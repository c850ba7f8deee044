import Glibc
import LarderAPI
import LarderEngine
import LarderStore
import NIOCore
import NIOHTTP1

/// Answers to plain reads that are ready to be sent again; one event loop uses them.
///
/// An answer is valid while its bytes would be the same. It ends when a write changes something
/// that it shows, or when a second of its Date, its Age or its remaining lifetime ends. So no
/// answer is valid for more than a second. That is enough: a target that clients read less often
/// needs no ready answer. The answers are bounded in bytes. When the recent half is full, the half
/// that was unused for longest is dropped as a whole.
final class ResponseCache {
    /// An answer, kept under its target and the user who asked for it.
    final class Answer {
        fileprivate let target: [UInt8]
        fileprivate let uid: UInt32
        let stamp: ReadVersion
        /// When its bytes are right.
        let moments: Range<Timestamp>
        /// The head with the body.
        let bytes: ByteBuffer
        let bodyBytes: Int

        init(
            _ asked: Asked,
            _ stamp: ReadVersion,
            _ moments: Range<Timestamp>,
            _ headers: HTTPHeaders,
            _ body: ByteBuffer
        ) {
            target = asked.target
            uid = asked.uid
            self.stamp = stamp
            self.moments = moments
            bytes = ByteBuffer(ok: headers, body)
            bodyBytes = body.readableBytes
        }

        /// Bytes counted for the answer: its own, and an estimate of the memory around them.
        fileprivate var size: Int { bytes.storageCapacity + 2 * target.count + 2_048 }

        fileprivate func isTo(_ target: UnsafeRawBufferPointer, _ uid: UInt32) -> Bool {
            self.uid == uid
                && self.target.withUnsafeBytes { own in
                    guard own.count == target.count, let first = own.baseAddress,
                        let other = target.baseAddress
                    else { return false }
                    return memcmp(first, other, own.count) == 0
                }
        }
    }

    /// Target and user of a read that came more than once, so that its answer is worth keeping.
    struct Asked {
        fileprivate let target: [UInt8]
        fileprivate let uid: UInt32
        fileprivate let hash: Int
    }

    private let halfBytesMax: Int
    /// By the hash of target and user: those that were used since the others were put aside.
    private var recent: [Int: Answer] = [:]
    private var older: [Int: Answer] = [:]
    private var recentBytes = 0
    private var olderBytes = 0
    /// Sum of the sizes of all answers.
    var bytes: Int { recentBytes + olderBytes }
    /// Hashes of the reads that came once.
    ///
    /// The first answer is not kept, as the read may be one of a million.
    private var seen: Set<Int> = []
    private static let seenMax = 16_384

    init(bytesMax: Int) {
        halfBytesMax = bytesMax / 2
    }

    /// The answer to a plain read, if one is kept and right now; else the reason is counted.
    func find(
        _ target: UnsafeRawBufferPointer,
        _ uid: UInt32,
        at now: Timestamp,
        _ meter: LoopMeter,
        stillShows: (ReadVersion) -> Bool
    ) -> Answer? {
        guard let answer = find(target, uid) else {
            meter.readyMissed(\.missing)
            return nil
        }
        guard answer.moments.contains(now) else {
            meter.readyMissed(\.expired)
            return nil
        }
        guard stillShows(answer.stamp) else {
            meter.readyMissed(\.stale)
            return nil
        }
        return answer
    }

    /// The answer to a plain read, right or not; nil where none is kept.
    func find(_ target: UnsafeRawBufferPointer, _ uid: UInt32) -> Answer? {
        let hash = Self.hash(target, uid)
        if let answer = recent[hash] { return answer.isTo(target, uid) ? answer : nil }
        guard let answer = older[hash], answer.isTo(target, uid) else { return nil }
        drop(hash)
        add(answer, hash)
        return answer
    }

    /// Notes what is asked for; nil for the first time.
    func note(_ target: String, _ uid: UInt32) -> Asked? {
        guard halfBytesMax > 0 else { return nil }
        let target = Array(target.utf8)
        let hash = target.withUnsafeBytes { Self.hash($0, uid) }
        if recent[hash] == nil {
            if seen.count >= Self.seenMax { seen.removeAll(keepingCapacity: true) }
            if seen.insert(hash).inserted { return nil }
        }
        return Asked(target: target, uid: uid, hash: hash)
    }

    /// Keeps an answer in the place of the one that was under its target.
    func keep(_ answer: Answer, to asked: Asked) {
        guard answer.size <= halfBytesMax else { return }
        drop(asked.hash)
        add(answer, asked.hash)
    }

    private func drop(_ hash: Int) {
        if let old = recent.removeValue(forKey: hash) { recentBytes -= old.size }
        if let old = older.removeValue(forKey: hash) { olderBytes -= old.size }
    }

    private func add(_ answer: Answer, _ hash: Int) {
        if recentBytes + answer.size > halfBytesMax {
            (older, olderBytes) = (recent, recentBytes)
            (recent, recentBytes) = ([:], 0)
        }
        recent[hash] = answer
        recentBytes += answer.size
    }

    private static func hash(_ target: UnsafeRawBufferPointer, _ uid: UInt32) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: target)
        hasher.combine(uid)
        return hasher.finalize()
    }
}

extension ByteBuffer {
    /// A whole answer, as HTTP's encoder writes it.
    fileprivate init(ok headers: HTTPHeaders, _ body: ByteBuffer) {
        self = ByteBufferAllocator().buffer(capacity: 512 + body.readableBytes)
        writeStaticString("HTTP/1.1 200 OK\r\n")
        for (name, value) in headers {
            writeString(name)
            writeStaticString(": ")
            writeString(value)
            writeStaticString("\r\n")
        }
        writeStaticString("\r\n")
        writeImmutableBuffer(body)
    }
}
