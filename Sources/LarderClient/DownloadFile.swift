import AsyncHTTPClient
import LarderModel
import LarderWire
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A temporary file in the folder of a path, renamed to the path when it is complete.
///
/// An instance that is released before ``takePlace()`` succeeds removes its file. One task uses the
/// file at a time. Blocking calls run on a thread pool.
final class DownloadFile: Sendable {
    private let path: String
    private let temporary: String
    private let descriptor: Int32
    /// Whether the temporary name is already renamed or removed.
    // Relaxed: only one task at a time, or `deinit`, reads it.
    private let hasLeft = Atomic<Bool>(false)

    /// Creates the temporary file for `path`.
    init(for path: String) throws(LarderError) {
        self.path = path
        let end = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let (folder, name) = (path[..<end], path[end...])
        guard !name.isEmpty, name != ".", name != ".." else {
            throw .fileFailed(path: path, reason: "it names no file")
        }
        // By code points: a letter may have many.
        let start = String(name.unicodeScalars.prefix(Self.nameLettersMax))
        var replaced = stat()
        // The rights of the file that it replaces, or of a new one.
        let rights = stat(path, &replaced) == 0 ? replaced.st_mode & 0o777 : 0o666
        // Skips the names of files that an earlier process with the same pid has left.
        for _ in 0..<Self.namesMax {
            let number = Self.names.wrappingAdd(1, ordering: .relaxed).newValue
            let temporary = "\(folder).\(start).\(getpid()).\(number)"
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
            let descriptor = open(temporary, flags, rights)
            if descriptor >= 0 {
                self.temporary = temporary
                self.descriptor = descriptor
                return
            }
            guard errno == EEXIST else { throw Self.failure(path) }
        }
        throw .fileFailed(path: path, reason: "its folder has too many unfinished files")
    }

    // Relaxed: the numbers must be unique, and order no other memory.
    private static let names = Atomic<Int>(0)
    private static let namesMax = 1_000
    /// Keeps the temporary name within the 255 bytes that file systems allow.
    private static let nameLettersMax = 40

    deinit {
        close(descriptor)
        remove()
    }

    private func remove() {
        if !hasLeft.exchange(true, ordering: .relaxed) { unlink(temporary) }
    }

    func write(_ bytes: [UInt8]) async throws(LarderError) {
        try await offTheCaller { [descriptor, path] in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { writeSome($0, to: descriptor) }
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    return Self.failure(path)
                }
            }
            return nil
        }
    }

    /// Syncs the file, renames it to `path` and syncs the folder.
    func takePlace() async throws(LarderError) {
        try await offTheCaller { [self] in
            guard fsync(descriptor) == 0, rename(temporary, path) == 0 else {
                let failure = Self.failure(path)
                // The caller may get the failure before this thread releases the file in `deinit`.
                remove()
                return failure
            }
            hasLeft.store(true, ordering: .relaxed)
            let end = path.lastIndex(of: "/")
            let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            let opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard opened >= 0 else { return Self.failure(folder) }
            defer { close(opened) }
            // A file system that cannot sync a folder says EINVAL (fsync(2)).
            return fsync(opened) == 0 || errno == EINVAL ? nil : Self.failure(folder)
        }
    }

    private func offTheCaller(
        _ work: @escaping @Sendable () -> LarderError?
    ) async throws(LarderError) {
        let failure: LarderError?
        do {
            failure = try await NIOThreadPool.singleton.runIfActive { work() }
        } catch {
            throw .cancelled
        }
        if let failure { throw failure }
    }

    private static func failure(_ path: String) -> LarderError {
        .fileFailed(path: path, reason: String(cString: strerror(errno)))
    }
}

/// Outside of the type, whose own method would hide write(2).
private func writeSome(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

/// The bytes of an entry as they arrive, in chunks of any size.
///
/// Iterate them once. Leaving the loop closes the connection. The iteration throws
/// ``LarderError/cutOff`` if the entry ends too early.
public struct EntryChunks: AsyncSequence, Sendable {
    private enum Source: Sendable {
        case bytes([UInt8])
        case response(HTTPClientResponse.Body, LarderClient)
    }

    private let source: Source

    init(_ bytes: [UInt8]) { source = .bytes(bytes) }

    init(_ body: HTTPClientResponse.Body, client: LarderClient) { source = .response(body, client) }

    /// Call this once.
    public func makeAsyncIterator() -> ClientIterator<[UInt8]> {
        switch source {
        case .bytes(var bytes):
            return ClientIterator { () async throws(LarderError) in
                defer { bytes = [] }
                return bytes.isEmpty ? nil : bytes
            }
        case .response(let body, let client):
            // The connection closes when the client is released.
            var open: (chunks: HTTPClientResponse.Body.AsyncIterator, client: LarderClient)?
            open = (body.makeAsyncIterator(), client)
            return ClientIterator { () async throws(LarderError) in
                guard var held = open else { return nil }
                open = nil
                guard let chunk = try await held.chunks.nextChunk() else { return nil }
                open = held
                return Array(chunk)
            }
        }
    }
}

extension HTTPClientResponse {
    func wholeBody(upTo bytesMax: Int) async throws(LarderError) -> [UInt8] {
        do {
            return Array(try await body.collect(upTo: bytesMax).readableBytesView)
        } catch {
            throw LarderError(error)
        }
    }

    /// The error of an answer with a status from 300 on.
    func refusal(of request: SocketRequest) async throws(LarderError) -> LarderError {
        let status = Int(status.code)
        guard request.method != .HEAD else { return Self.refusal(toHEAD: status) }
        if request.target.hasPrefix(RawCommand.pathPrefix) { return try await rawRefusal() }
        guard headers.first(name: "Content-Type")?.hasPrefix(Problem.mediaType) == true else {
            return .badAnswer("the status \(status) without a problem")
        }
        let bytes = try await wholeBody(upTo: Limits.frameBytesMax)
        do throws(APIDecodingError) {
            return .problem(try Problem(decoding: bytes))
        } catch {
            return .badAnswer("a problem with the status \(status): \(error.message)")
        }
    }

    /// The error of a raw route, where the refusal may be the origin's own body.
    private func rawRefusal() async throws(LarderError) -> LarderError {
        let bytes = try await wholeBody(upTo: Limits.frameBytesMax)
        if headers.first(name: "Content-Type")?.hasPrefix(Problem.mediaType) == true,
            let problem = try? Problem(decoding: bytes)
        {
            return .problem(problem)
        }
        let status = Int(status.code)
        var problem = Problem(refusal: status, "the origin answered \(status)")
        problem.quote(bytes)
        return .problem(problem)
    }

    /// The error of a HEAD request by its status, as the answer has no body.
    private static func refusal(toHEAD status: Int) -> LarderError {
        switch status {
        case 404: return .problem(Problem(.miss, "nothing is cached under the id"))
        case 410: return .problem(Problem(.deleted, "the origin says that it is gone", status: 410))
        default:
            var problem = Problem(
                .badRequest,
                "larderd refused the request with the status \(status)",
                status: status,
                hint: "Ask for the bytes as well: that answer says why."
            )
            problem.type = "about:blank"
            problem.title = HTTPResponseStatus(statusCode: status).reasonPhrase
            problem.retryable = status == 503 || status == 504
            return .problem(problem)
        }
    }

    func text(_ name: String) -> String? { headers.first(name: name) }
    func integer<Integer: FixedWidthInteger>(_ name: String) -> Integer? {
        text(name).flatMap { Integer($0) }
    }
}

extension LarderError {
    /// Runs `check` on what the caller gave; the daemon would say the same.
    static func checking<Value>(
        _ kind: ProblemKind,
        _ text: String,
        _ check: (String) throws(ModelError) -> Value
    ) throws(LarderError) -> Value {
        do throws(ModelError) {
            return try check(text)
        } catch {
            throw .problem(Problem(kind, error.message))
        }
    }
}

/// A request as it goes to whichever socket answers.
struct SocketRequest: Sendable {
    var method: HTTPMethod
    var target: String
    var headers = HTTPHeaders()
    var body: HTTPClientRequest.Body?
    /// Longest time of the whole exchange; nil if the daemon limits it.
    var timeLimit: Duration?

    init(_ method: HTTPMethod, _ target: String, timeLimit: Duration? = nil) {
        self.method = method
        self.target = target
        self.timeLimit = timeLimit
    }

    init(getting path: String, _ query: some Encodable) {
        self.init(.GET, socketTarget(path, query), timeLimit: Limits.reportTime)
    }

    init(
        _ method: HTTPMethod = .POST,
        sending command: some Encodable,
        to target: String,
        timeLimit: Duration? = nil
    ) {
        self.init(method, target, timeLimit: timeLimit)
        headers.add(name: "Content-Type", value: "application/json")
        body = .bytes(APIEncoder().encode(command))
    }
}

func socketTarget(_ path: String, _ query: some Encodable) -> String {
    let text = APIEncoder().query(query)
    return text.isEmpty ? path : "\(path)?\(text)"
}
