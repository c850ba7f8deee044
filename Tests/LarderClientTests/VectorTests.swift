import Foundation
import LarderJSON
import LarderTestSupport
import Testing

@testable import LarderClient

/// The vectors that the clients for Python and Node run too, against the same scripted server.
///
/// A deletion and `unchanged` have no members in Swift, so only their kind is compared.
@Suite("The vectors of clients/vectors", .timeLimit(.minutes(10)))
struct VectorTests {
    static let names = (try? Vector.names()) ?? []

    @Test("The client delivers what a vector says", arguments: names)
    func vector(name: String) async throws {
        let vector = try Vector(name)
        let server = try await ScriptedServer(vector)
        let client = LarderClient(socket: .path(server.socket))
        var thrown: LarderError?
        do throws(LarderError) {
            try await vector.run(with: client, server)
        } catch {
            thrown = error
        }
        check(thrown, vector.raises)
        await client.shutdown()
        let report = try await server.report()
        #expect(report["mismatches"]?.elements?.isEmpty == true, "\(report.text)")
        #expect(report["served"] == report["expected"], "\(report.text)")
    }

    @Test("There are vectors")
    func count() {
        #expect(Self.names.count >= 40)
    }

    private func check(_ thrown: LarderError?, _ raises: JSONValue) {
        let got = thrown.map { Vector.description(of: $0) } ?? .null
        #expect(raises.isFound(in: got), "thrown: \(got.text), expected: \(raises.text)")
    }
}

/// A vector, and how the calls of this client are named in it.
private struct Vector {
    let path: String
    private let value: JSONValue
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "clients/vectors")

    static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".json") }.sorted()
    }

    static var server: String { folder.appending(path: "server.py").path }

    init(_ name: String) throws {
        let file = Self.folder.appending(path: name)
        path = file.path
        value = try JSONValue(parsing: Array(try Data(contentsOf: file)))
    }

    var raises: JSONValue { value["raises"] ?? .null }
    var exchangeCount: Int { value["exchanges"]?.elements?.count ?? 0 }
    private var call: JSONValue { value["call"] ?? .null }
    private var arguments: JSONValue { call["arguments"] ?? .null }
    /// Whether the test ends the stream after its last item.
    private var isEndless: Bool { value["ends"] == nil && raises.isNull }

    func run(with client: LarderClient, _ server: ScriptedServer) async throws(LarderError) {
        switch call["method"]?.string {
        case "watch":
            let events = client.watch(try command())
            try await compare(events.makeAsyncIterator()) { (event) throws(LarderError) in
                Self.description(of: event)
            }
        case "fetch":
            let fetch: FetchCommand = try command()
            let updates = client.fetch(fetch.url, options: fetch.options)
            try await compare(updates.makeAsyncIterator()) { (update) throws(LarderError) in
                try await Self.description(of: update)
            }
        case "follow":
            let fetch: FetchCommand = try command()
            let updates = client.follow(fetch.url, options: fetch.options)
            try await compare(updates.makeAsyncIterator()) { (update) throws(LarderError) in
                try await Self.description(of: update)
            }
        case "provide_credential": try await provideCredential(client, server)
        case let method: check(try await result(of: method ?? "", client))
        }
    }

    /// The result of a call that is not a stream.
    private func result(
        of method: String,
        _ client: LarderClient
    ) async throws(LarderError) -> JSONValue {
        let target = arguments["target"]?.string ?? ""
        switch method {
        case "get":
            let fetch: FetchCommand = try command()
            let snapshot = try await client.finalResult(on: fetch.url, fetch.options)
            return try await Self.description(of: snapshot)
        case "put":
            let receipt = try await client.put(
                arguments["id"]?.string ?? "",
                bytes: Array((arguments["text"]?.string ?? "").utf8),
                mediaType: arguments["content_type"]?.string ?? ""
            )
            return .object([
                JSONMember(name: "is_new", value: .bool(receipt.isNew)),
                JSONMember(name: "etag", value: receipt.etag.map { .string($0) } ?? .null),
                JSONMember(name: "rev", value: Self.json(receipt.rev)),
            ])
        case "modify", "modify_and_wait":
            let merge = Modifier.Effect.merge(JSON(arguments["merge"] ?? .null))
            let receipt = try await client.write(Modifier(merge, on: target))
            guard let wait = arguments["wait"]?.integer else { return Self.json(receipt) }
            return Self.json(try await client.modifier(receipt.id, waitingFor: .seconds(wait)))
        default:
            Issue.record("unknown method \(method)")
            return .null
        }
    }

    private func provideCredential(
        _ client: LarderClient,
        _ server: ScriptedServer
    ) async throws(LarderError) {
        let given = arguments["credential"]?.bytes ?? []
        let credential = try Self.decode(CredentialCommand.self, given)
        let origin = arguments["origin"]?.string ?? ""
        let calls = Recorder<RenewalReason>()
        let program = Task {
            try await client.provideCredential(at: origin) { reason in
                calls.record(reason)
                return credential
            }
        }
        // The server says `ready`, then a line for each exchange.
        _ = try? await server.lines.element(exchangeCount)
        program.cancel()
        _ = await program.result
        #expect(calls.all.count == 1)
    }

    /// Reads a stream until what the vector delivers was there.
    private func compare<Items: AsyncIteratorProtocol>(
        _ iterator: consuming Items,
        _ describe: (Items.Element) async throws(LarderError) -> JSONValue?
    ) async throws(LarderError) where Items.Failure == LarderError {
        var items = iterator
        var wanted = value["delivers"]?.elements ?? []
        while !isEndless || wanted.contains(where: { $0["optional"] == nil }) {
            guard let item = try await items.next(isolation: nil) else { break }
            guard let got = try await describe(item) else { continue }
            while let first = wanted.first, first["optional"] != nil, !first.isFound(in: got) {
                wanted.removeFirst()
            }
            guard !wanted.isEmpty else {
                Issue.record("also: \(got.text)")
                return
            }
            let next = wanted.removeFirst()
            #expect(next.isFound(in: got), "delivered: \(got.text), expected: \(next.text)")
        }
        let missing = wanted.filter { $0["optional"] == nil }
        #expect(missing.isEmpty, "missing: \(missing.map(\.text))")
    }

    private func check(_ result: JSONValue) {
        let wanted = value["returns"] ?? .null
        #expect(wanted.isFound(in: result), "result: \(result.text), expected: \(wanted.text)")
    }

    // MARK: What the program sees, as vectors have it

    private static func description(of event: WatchEvent) -> JSONValue? {
        switch event {
        case .frame(let frame): json(frame)
        case .lost: .object([JSONMember(name: "type", value: .string("reset"))])
        // An outage is no event in the other clients.
        case .disconnected: nil
        }
    }

    private static func description(
        of update: FetchUpdate
    ) async throws(LarderError) -> JSONValue? {
        switch update {
        case .snapshot(let snapshot): try await description(of: snapshot)
        case .unchanged: view("unchanged")
        case .deleted: view("deleted")
        case .failed(let problem): view("failure", ("problem", json(problem)))
        case .origin(let frame): view("origin", of: json(frame))
        case .end: nil
        }
    }

    private static func description(
        of update: FollowUpdate<Snapshot>
    ) async throws(LarderError) -> JSONValue? {
        switch update {
        case .value(let snapshot): try await description(of: snapshot)
        case .unchanged: view("unchanged")
        case .deleted: view("deleted")
        case .failed(let problem): view("failure", ("problem", json(problem)))
        case .origin(let frame): view("origin", of: json(frame))
        case .disconnected(let error): view("failure", ("problem", description(of: error)))
        }
    }

    static func description(of error: LarderError) -> JSONValue {
        if let problem = error.problem { return json(problem) }
        switch error {
        case .cutOff, .timedOut, .unreachable:
            return .object([JSONMember(name: "retryable", value: .bool(true))])
        default: return .object([JSONMember(name: "detail", value: .string(error.description))])
        }
    }

    private static func description(
        of snapshot: Snapshot
    ) async throws(LarderError) -> JSONValue {
        let bytes = try await snapshot.body()
        let body = try? JSONValue(parsing: bytes)
        var members: [(String, JSONValue)] = []
        members.append(("text", .string(String(decoding: bytes, as: UTF8.self))))
        if let body {
            members.append(("body", body))
            let marks = snapshot.rows ?? []
            let lists = ["/items", "/more~1x"].compactMap { rows(at: $0, of: body, marks) }
            members.append(("rows", .array(lists)))
        }
        members += (json(snapshot.frame.entry).members ?? []).map { ($0.name, $0.value) }
        let known = Set(members.map(\.0))
        members += (json(snapshot.frame).members ?? []).filter { !known.contains($0.name) }
            .map { ($0.name, $0.value) }
        members.append(("view", .string("snapshot")))
        return .object(members.map { JSONMember(name: $0.0, value: $0.1) })
    }

    /// The rows of the list at a pointer with their marks, as vectors have them.
    private static func rows(
        at pointer: String,
        of body: JSONValue,
        _ marks: [SnapshotRow]
    ) -> JSONValue? {
        let name = String(pointer.dropFirst()).replacing("~1", with: "/")
        guard let list = body[name]?.elements else { return nil }
        let pairs = list.enumerated().map { index, row -> JSONValue in
            let mark = marks.first { $0.pointer == "\(pointer)/\(index)" }
            let names = { (ids: [String]?) in JSONValue.array((ids ?? []).map { .string($0) }) }
            let described = JSONValue.object([
                JSONMember(name: "id", value: mark.map { .string($0.id) } ?? .null),
                JSONMember(name: "pending", value: names(mark?.pending)),
                JSONMember(name: "failed", value: names(mark?.failed)),
            ])
            return .array([row, described])
        }
        return .object([
            JSONMember(name: "pointer", value: .string(pointer)),
            JSONMember(name: "pairs", value: .array(pairs)),
        ])
    }

    private static func view(_ kind: String, _ members: (String, JSONValue)...) -> JSONValue {
        let all = [("view", .string(kind))] + members
        return .object(all.map { JSONMember(name: $0.0, value: $0.1) })
    }

    private static func view(_ kind: String, of frame: JSONValue) -> JSONValue {
        .object([JSONMember(name: "view", value: .string(kind))] + (frame.members ?? []))
    }

    // MARK: JSON

    private func command<Command: Decodable>() throws(LarderError) -> Command {
        try Self.decode(Command.self, arguments.bytes)
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type,
        _ bytes: [UInt8]
    ) throws(LarderError) -> Value {
        do throws(APIDecodingError) {
            return try APIDecoder(.lenient).decode(type, from: bytes)
        } catch {
            throw .badAnswer(error.message)
        }
    }

    private static func json(_ value: some Encodable) -> JSONValue {
        (try? JSONValue(parsing: APIEncoder().encode(value))) ?? .null
    }
}

extension JSONValue {
    fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether `other` has at least the members of this value.
    fileprivate func isFound(in other: JSONValue?) -> Bool {
        guard let other else { return false }
        if let members {
            // A deletion and `unchanged` have no members in Swift.
            let isBare = ["deleted", "unchanged"].contains(self["view"]?.string ?? "")
            return members.allSatisfy { member in
                member.name == "optional" || isBare && member.name != "view"
                    || member.value.isFound(in: other[member.name])
            }
        }
        if let elements {
            guard let others = other.elements, others.count == elements.count else { return false }
            return zip(elements, others).allSatisfy { $0.isFound(in: $1) }
        }
        return isSame(as: other)
    }
}

/// `clients/vectors/server.py` with one vector, as a process.
private final class ScriptedServer: Sendable {
    let socket: String
    /// The lines that the scripted server prints: `ready`, then a line for each exchange.
    let lines = Recorder<String>()
    private let reports = Recorder<String>()
    private let folder: TemporaryDirectory
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ vector: Vector) async throws {
        folder = try TemporaryDirectory()
        socket = folder.path("s")
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", Vector.server, "--socket", socket, vector.path]
        (process.standardInput, process.standardOutput) = (input, output)
        let (lines, reports) = (lines, reports)
        // Foundation calls the handler on one queue.
        nonisolated(unsafe) var rest = ""
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            rest += String(decoding: data, as: UTF8.self)
            while let end = rest.firstIndex(of: "\n") {
                let line = String(rest[..<end])
                rest.removeSubrange(...end)
                (line.hasPrefix("{") ? reports : lines).record(line)
            }
        }
        try process.run()
        try #require(try await lines.element(0) == "ready")
    }

    /// Ends the scripted server and returns the requests that it got.
    func report() async throws -> JSONValue {
        try input.fileHandleForWriting.close()
        return try JSONValue(parsing: Array(try await reports.element(0).utf8))
    }
}
