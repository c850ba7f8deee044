import CSQLite
import LarderModel

/// A failure of the store: the step, its file or subject, and the cause.
///
/// A `step` is a few words that begin with a small letter, or the SQL that failed. ``message`` is
/// for users and never has SQL; ``statement`` is for the log.
package enum StoreError: Error, Equatable {
    case cannotOpen(path: String, reason: String)
    case inUse(path: String)
    /// `state.db` was written by a later version of Larder; it is left untouched.
    ///
    /// `copy` is the newest copy of it that this version can read, if there is one.
    case newer(path: String, found: Int, known: Int, copy: String?)
    /// The path is a folder or a symbolic link, or the file may not be written.
    case unusable(path: String, reason: String)
    /// SQLite refused a step on a file: its extended result code and words.
    case sqlite(file: String, step: String, code: Int32, message: String)
    case diskFull(file: String, step: String)
    case corrupt(file: String, step: String)
    /// The entry alone is larger than an entry, or the whole cache, may be.
    case tooLarge(bytes: Int64, limit: Int64)
    case noRoom(bytes: Int64)
    /// The row of another id has the key of this one.
    case keyTaken
    case pinned
    case targeted
    case conditionFailed
    case queueFull(QueueBound, limit: Int64)
    case modifierExists
    /// A temporary id has another state than the engine has found.
    case otherIDs
    /// The modifier names a temporary id for which no origin has told an id.
    case missingID
    /// An edit no longer makes a thing whose temporary id other modifiers name.
    case idNamed
    /// The row does not fit into the room that pins have.
    case pinsFull(bytes: Int64, limit: Int64)
    case tooManyPins(limit: Int)
    case tooManySets
    case overloaded
    case tooManyReads
    /// The read would keep an event loop busy for too long; no part of it was shown.
    case overLoopBudget
    case closed
    case badChunk
    case noFile(reason: String)
    /// `cache.db` was recreated, or the upload was given up, while the body arrived.
    case uploadLost

    package var message: String {
        switch self {
        case .cannotOpen(let path, let reason): "cannot open \(path): \(reason)"
        case .inUse(let path): "\(path) is in use by another larderd: stop it (pgrep -a larderd)"
        case .newer(let path, let found, let known, let copy):
            "\(path) has schema version \(found), this larderd knows up to \(known): install a larderd "
                + "that knows version \(found)"
                + (copy.map { ", or restore \($0)" } ?? "; there is no copy of an earlier version")
        case .unusable(let path, let reason): "\(path) cannot be used: \(reason)"
        case .sqlite(let file, let step, let code, _):
            "\(Self.words(step)) failed on \(file): \(Self.meaning(of: code)) (\(code))"
        case .diskFull(let file, let step): "\(Self.words(step)) failed: the disk is full (\(file))"
        case .corrupt(let file, let step):
            "\(Self.words(step)) failed: the file is damaged (\(file))"
        case .tooLarge(let bytes, let limit):
            "the entry has \(bytes) bytes, at most \(limit) are kept"
        case .noRoom(let bytes): "protected entries leave no room for \(bytes) bytes"
        case .keyTaken: "it cannot be kept: another entry has a key with the same hash"
        case .pinned: "the entry is pinned"
        case .queueFull(let bound, let limit): "the queue takes \(limit) \(bound)"
        case .otherIDs: "the ids that it names have changed"
        case .missingID: "it names a temporary id, and no origin has told the id"
        case .idNamed: "other writes name a temporary id that it no longer creates"
        case .modifierExists: "another modifier was accepted under the same id"
        case .conditionFailed: "the entry is not what the request expects"
        case .targeted: "the entry has writes that are not settled yet"
        case .pinsFull(let bytes, let limit):
            "\(bytes) bytes and the other pins exceed \(limit) bytes, the room in pins.max_bytes"
        case .tooManyPins(let limit): "one user can have \(limit) pins"
        case .tooManySets:
            "one user can have \(Limits.prefetchSetsPerUserMax) sets with "
                + "\(Limits.prefetchItemsPerUserMax) entries and "
                + "\(Limits.prefetchListBytesPerUserMax) bytes of JSON together"
        case .overloaded: "too many writes are waiting"
        case .tooManyReads: "\(Limits.readsWaitingPerUserMax) reads of this user wait already"
        case .overLoopBudget: "it takes too long to be read on an event loop"
        case .closed: "the store is closed"
        case .badChunk: "a part of the body is missing or damaged"
        case .noFile(let reason): "nothing is stored now: \(reason)"
        case .uploadLost: "the part of the body that had arrived is lost"
        }
    }

    /// The failed SQL and SQLite's message, in one line for the log.
    ///
    /// Nil if a step without SQL failed, or the disk is full.
    package var statement: String? {
        switch self {
        case .sqlite(_, let step, _, let message) where Self.isSQL(step):
            "\(Self.line(step)): \(message)"
        case .corrupt(_, let step) where Self.isSQL(step): Self.line(step)
        case _: nil
        }
    }

    static func words(_ step: String) -> String {
        guard isSQL(step) else { return step }
        return switch step.split(whereSeparator: { !$0.isLetter }).first {
        case "SELECT", "WITH": "a read"
        case "PRAGMA": "a look at the file"
        case "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE": "a transaction"
        default: "a write"
        }
    }

    private static func isSQL(_ step: String) -> Bool {
        step.first { !$0.isWhitespace }?.isLowercase == false
    }

    private static func line(_ sql: String) -> String {
        let line = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return line.count <= 300 ? line : "\(line.prefix(300))…"
    }

    private static func meaning(of code: Int32) -> String { String(cString: sqlite3_errstr(code)) }

    var file: String? {
        switch self {
        case .sqlite(let file, _, _, _), .diskFull(let file, _), .corrupt(let file, _): file
        case _: nil
        }
    }

    /// Whether the error means damage of this file.
    ///
    /// Other refusals of SQLite (a constraint, invalid SQL) may be our mistake, and are no reason
    /// to throw anything away.
    func meansDamage(of file: DatabaseFile) -> Bool {
        if case .corrupt(file.path, _) = self { true } else { false }
    }

    /// Makes an error of SQLite's result code (https://sqlite.org/rescode.html).
    init(code: Int32, file: String, step: String, message: String) {
        switch (code & 0xFF, code >> 8) {
        // The shared memory of a WAL is a file that could not be extended.
        case (SQLITE_FULL, _), (SQLITE_IOERR, Self.shmSize):
            self = .diskFull(file: file, step: step)
        // A short read means that a WAL or a file was cut. Where the disk cannot read a page, a step
        // of a statement has SQLITE_CORRUPT, an opening or a checkpoint SQLITE_IOERR_CORRUPTFS.
        case (SQLITE_CORRUPT, _), (SQLITE_NOTADB, _), (SQLITE_IOERR, Self.shortRead),
            (SQLITE_IOERR, Self.corruptFileSystem):
            self = .corrupt(file: file, step: step)
        default: self = .sqlite(file: file, step: step, code: code, message: message)
        }
    }

    /// Whether a result code is SQLITE_IOERR_WRITE or SQLITE_IOERR_FSYNC.
    static func isFailedWrite(_ code: Int32) -> Bool {
        code & 0xFF == SQLITE_IOERR && [write, sync].contains(code >> 8)
    }

    /// SQLITE_IOERR_SHMSIZE and others without SQLITE_IOERR, as Swift does not import their macros.
    private static let shmSize: Int32 = 19
    private static let shortRead: Int32 = 2
    private static let write: Int32 = 3
    private static let sync: Int32 = 4
    private static let corruptFileSystem: Int32 = 33

    static func system(_ path: String) -> StoreError {
        .cannotOpen(path: path, reason: lastSystemError())
    }
}

package enum QueueBound: Equatable, Sendable {
    case modifiers
    case bytes
}
