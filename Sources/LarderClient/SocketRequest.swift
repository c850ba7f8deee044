import AsyncHTTPClient
import LarderAPI
import LarderModel
import LarderWire
import NIOHTTP1

/// A request as it goes to whichever socket answers.
struct SocketRequest: Sendable {
    var method: HTTPMethod
    /// Path and query.
    var target: String
    var headers = HTTPHeaders()
    var body: HTTPClientRequest.Body?
    /// How long the whole exchange may take; nil where the daemon keeps the deadline.
    var timeLimit: Duration?

    init(_ method: HTTPMethod, _ target: String, timeLimit: Duration? = nil) {
        self.method = method
        self.target = target
        self.timeLimit = timeLimit
    }

    /// A GET of a report.
    init(getting path: String, _ query: some Encodable) {
        self.init(.GET, socketTarget(path, query), timeLimit: Limits.reportTime)
    }

    /// A POST of a command.
    init(posting json: [UInt8], to target: String, timeLimit: Duration? = nil) {
        self.init(.POST, target, timeLimit: timeLimit)
        headers.add(name: "Content-Type", value: "application/json")
        body = .bytes(json)
    }
}

/// A path with the parameters of a query.
func socketTarget(_ path: String, _ query: some Encodable) -> String {
    let text = APIEncoder().query(query)
    return text.isEmpty ? path : "\(path)?\(text)"
}

/// A path with the parameters that are given.
func target(_ path: String, _ parameters: KeyValuePairs<String, String?>) -> String {
    let pairs = parameters.compactMap { name, value in
        value.map { "\(name)=\(PercentCoding.encode($0))" }
    }
    return pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))"
}
