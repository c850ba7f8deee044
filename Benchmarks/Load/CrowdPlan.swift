/// The things that can be watched, and the things that each connection watches.
///
/// Things are numbered in this order:
/// - blobs, of which the first are watched by many connections and change often;
/// - authors;
/// - pages, each with an article and its author;
/// - the thing that tells that all is done.
struct CrowdPlan: Sendable {
    static let hot = 100
    static let authors = 100
    static let pages = 200
    static let entitiesAndPages = authors + pages
    /// The number of hot blobs that each connection watches.
    private static let hotEach = 5

    let blobs: Int
    let connections: Int
    /// The name of the origin.
    private let origin: String
    private let base: String

    init(ids: Int, connections: Int, origin: String, base: String) {
        blobs = ids - Self.entitiesAndPages
        self.connections = connections
        self.origin = origin
        self.base = base
    }

    var things: Int { blobs + Self.entitiesAndPages }
    var last: Int { things }

    func author(_ number: Int) -> Int { blobs + number }
    /// The pages that show an author.
    func pages(of author: Int) -> [Int] {
        stride(from: author, to: Self.pages, by: Self.authors).map { blobs + Self.authors + $0 }
    }

    /// The id of a thing.
    func name(_ thing: Int) -> String {
        if thing < blobs { return "crowd:\(thing)" }
        if thing == last { return "crowd:last" }
        let number = thing - blobs
        return number < Self.authors
            ? "entity:\(origin)/User:\(number)" : "\(base)pages/\(number - Self.authors)"
    }

    /// The things that a connection watches.
    func watched(by connection: Int) -> Set<Int> {
        var things = Set(stride(from: connection, to: self.things, by: connections))
        for number in 0..<Self.hotEach {
            things.insert((connection * Self.hotEach + number) % Self.hot)
        }
        things.insert(last)
        return things
    }

    /// The body of the connection's watch request.
    func command(of connection: Int) -> String {
        let ids = watched(by: connection).sorted().map { "\"\(name($0))\"" }
        return #"{"ids":[\#(ids.joined(separator: ","))]}"#
    }

    // MARK: Requests

    static func request(_ method: String, _ path: String, _ body: String = "") -> [UInt8] {
        let head = "\(method) \(path) HTTP/1.1\r\nHost: larder\r\n"
        return Array("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
    }

    /// Makes the daemon fetch all pages.
    func publish(at socket: String) throws(LoadFailure) {
        let connection = try Connection(socket)
        var buffer = AnswerBuffer()
        for page in 0..<Self.pages {
            try connection.send(Self.request("GET", "/o/\(origin)/pages/\(page)"))
            let status = try connection.receive(&buffer)
            guard status == 200 else { throw .status(status) }
        }
    }

    func putLast(at socket: String) throws(LoadFailure) {
        let connection = try Connection(socket)
        var buffer = AnswerBuffer()
        try connection.send(Self.request("PUT", "/v1/entries/\(name(last))", "1"))
        let status = try connection.receive(&buffer)
        guard (200...299).contains(status) else { throw .status(status) }
    }
}
