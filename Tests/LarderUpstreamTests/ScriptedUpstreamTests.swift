import LarderModel
import LarderTestSupport
import LarderUpstream
import Testing

@Suite("The scripted upstream", .timeLimit(.minutes(5)))
struct ScriptedUpstreamTests {
    @Test("The upstream answers a URL's requests in the queued order, each once")
    func inOrder() async throws {
        let upstream = ScriptedUpstream()
        let request = try Self.request()
        upstream.answer(request.url, with: .json("1"), .failure(.timedOut(.head)))
        let reply = try await upstream.ask(request)
        #expect(reply.headers["content-type"] == "application/json")
        let text = try await reply.text()
        #expect(text == "1")
        await #expect(throws: UpstreamError.timedOut(.head)) { try await upstream.ask(request) }
        let unscripted = UpstreamError.unreachable(
            host: "example.com",
            reason: "nothing is scripted for it"
        )
        await #expect(throws: unscripted) { try await upstream.ask(request) }
        #expect(upstream.asked.all == [request, request, request])
    }

    @Test("The upstream holds head and body until their gates open, and can fail in between")
    func holds() async throws {
        let upstream = ScriptedUpstream()
        let request = try Self.request()
        let (head, body) = (Gate(), Gate())
        let broken = UpstreamError.brokenOff(reason: "scripted")
        upstream.answer(
            request.url,
            with: .reply(pieces: [.bytes([1]), .hold(body), .failure(broken)]).held(by: head)
        )
        async let asked = upstream.asked.element(0)
        let task = Task { () async throws -> UpstreamError? in
            let reply = try await upstream.ask(request)
            _ = try await reply.body.next()
            body.open()
            do throws(UpstreamError) {
                _ = try await reply.body.next()
                return nil
            } catch {
                return error
            }
        }
        #expect(try await asked == request)
        head.open()
        let failure = try await task.value
        #expect(failure == broken)
    }

    @Test("A held request that is cancelled is reported as given up")
    func givenUp() async throws {
        let upstream = ScriptedUpstream()
        let request = try Self.request()
        upstream.answer(request.url, with: .reply().held(by: Gate()))
        let task = Task { () async -> UpstreamError? in
            do throws(UpstreamError) {
                _ = try await upstream.ask(request)
                return nil
            } catch {
                return error
            }
        }
        _ = try await upstream.asked.element(0)
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(upstream.givenUp.all == [request])
    }

    private static func request() throws -> UpstreamRequest {
        let url = try WebURL("https://example.com/1")
        let origin = OriginSettings(name: try OriginName("example"), baseURL: url)
        return UpstreamRequest(origin: origin, url: url, timeout: .seconds(30))
    }
}
