import AsyncHTTPClient
import LarderModel
import LarderWire
import NIOCore
import NIOHTTP1

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
        var problem = Problem(.originStatus, "the origin answered \(status)")
        problem.originStatus = status
        problem.quote(bytes)
        return .problem(problem)
    }

    /// The error of a HEAD request by its status, as the answer has no body.
    private static func refusal(toHEAD status: Int) -> LarderError {
        switch status {
        case 404: .problem(Problem(.miss, "nothing is cached under the id"))
        case 410: .problem(Problem(.deleted, "the origin says that it is gone", status: 410))
        default:
            .problem(
                Problem(
                    type: "about:blank",
                    title: HTTPResponseStatus(statusCode: status).reasonPhrase,
                    status: status,
                    detail: "larderd refused the request with the status \(status)",
                    requestID: "",
                    retryable: status == 503 || status == 504,
                    hint: "Ask for the bytes as well: that answer says why."
                )
            )
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

    init(posting command: some Encodable, to target: String, timeLimit: Duration? = nil) {
        self.init(.POST, target, timeLimit: timeLimit)
        headers.add(name: "Content-Type", value: "application/json")
        body = .bytes(APIEncoder().encode(command))
    }
}

func socketTarget(_ path: String, _ query: some Encodable) -> String {
    let text = APIEncoder().query(query)
    return text.isEmpty ? path : "\(path)?\(text)"
}
