import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

@Suite("Bodies that are still coming", .timeLimit(.minutes(10)))
struct UploadTests {
    @Test("A user has a limit of uploads, all users have another, and an ended upload frees one")
    func places() throws {
        let places = UserQuota(max: Limits.uploadsMax, each: Limits.uploadsPerUserMax)
        var taken: [UserShare] = []
        for _ in 0..<Limits.uploadsPerUserMax { taken.append(try #require(places.take(1, for: 1))) }
        #expect(places.take(1, for: 1) == nil)
        taken.removeLast()
        taken.append(try #require(places.take(1, for: 1)))
        #expect(places.take(1, for: 1) == nil)
        var uid: UInt32 = 2
        while taken.count < Limits.uploadsMax {
            guard let place = places.take(1, for: uid) else {
                uid += 1
                continue
            }
            taken.append(place)
        }
        #expect(places.take(1, for: 1_000) == nil)
        taken.removeAll()
        #expect(places.take(1, for: 1) != nil)
    }

    @Test("An entity larger than one may be is refused by its length, and by its bytes")
    func largeEntities() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let head = "PUT /v1/entries/entity:example/User:7 HTTP/1.1\r\nHost: x\r\n"
            let announced = try await server.connect()
            try await announced.send("\(head)Content-Length: \(Limits.entityBytesMax + 1)\r\n\r\n")
            let hidden = try await server.connect()
            let size = String(Limits.entityBytesMax + 1, radix: 16)
            let body = [UInt8](repeating: 0x20, count: Limits.entityBytesMax + 1)
            let start = "\(head)Transfer-Encoding: chunked\r\n\r\n\(size)\r\n"
            hidden.begin(Array(start.utf8) + body)
            for client in [announced, hidden] {
                let refusal = try await client.response(to: "PUT")
                #expect(refusal.status == 413)
                #expect(try refusal.problem().kind == .bodyTooLarge)
            }
        }
    }

    @Test("Bodies that are collected count by what they announce, until they are answered")
    func collected() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let head =
                "PUT /v1/entries/entity:example/User:7 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                + "Content-Length: \(Limits.entityBytesMax)\r\n\r\n"
            var halves: [RawClient] = []
            for _ in 0..<Limits.heldBytesPerUserMax / Limits.entityBytesMax {
                let client = try await server.connect()
                try await client.send(head)
                #expect(try await client.response(to: "PUT").status == 100)
                halves.append(client)
            }
            let late = try await server.connect()
            try await late.send(head)
            let refusal = try await late.response(to: "PUT")
            #expect(refusal.status == 503)
            let problem = try refusal.problem()
            #expect(problem.kind == .overloaded)
            #expect(problem.retryable)
            let small = try await server.connect()
            let ada = Array(#"{"id":7,"name":"Ada"}"#.utf8)
            #expect(
                try await small.ask("PUT", "/v1/entries/entity:example/User:7", body: ada).status
                    == 201
            )
            await halves.removeLast().hangUp()
            var status = 503
            while status == 503 {
                let next = try await server.connect()
                try await next.send(head)
                status = try await next.response(to: "PUT").status
                await next.hangUp()
            }
            #expect(status == 100)
        }
    }

    @Test("A body over the limit is refused, while complete bodies are still accepted")
    func refused() async throws {
        try await ServerFixture.run { server in
            var halves: [RawClient] = []
            let head = " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
            for index in 0..<Limits.uploadsPerUserMax {
                let client = try await server.connect()
                let request =
                    index % 2 == 0 ? "PUT /v1/entries/a\(index)" : "POST /v1/evict"
                try await client.send(request + head)
                // The body is waited for, so it has its place.
                #expect(try await client.response(to: "PUT").status == 100)
                halves.append(client)
            }
            for request in ["PUT /v1/entries/b", "POST /v1/fetch"] {
                let client = try await server.connect()
                try await client.send(request + head)
                let response = try await client.response(to: "PUT")
                #expect(response.status == 503)
                #expect(try response.problem().kind == .overloaded)
                #expect(response.headers["Connection"] == "close")
            }
            let whole = try await server.connect()
            #expect(try await whole.ask("PUT", "/v1/entries/c", body: [1]).status == 201)
            try await halves[0].send("one")
            #expect(try await halves[0].response(to: "PUT").status == 201)
            await halves[1].hangUp()
            try await server.expectServing()
            let next = try await server.connect()
            try await next.send("PUT /v1/entries/b" + head)
            #expect(try await next.response(to: "PUT").status == 100)
        }
    }
}
