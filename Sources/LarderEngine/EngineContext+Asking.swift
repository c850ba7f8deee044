import LarderModel
import LarderUpstream

extension EngineContext {
    /// Asks the upstream, and notes it when the origin has said nothing for ``Limits/silenceTime``
    /// since the request left; the request goes on.
    ///
    /// The time for which it waits for one of our own connections is not the origin's.
    func ask(
        _ request: UpstreamRequest,
        onSent: @escaping @Sendable () -> Void = {}
    ) async throws(UpstreamError) -> UpstreamReply {
        let (departures, departure) = AsyncStream<Void>.makeStream()
        let result = await withDiscardingTaskGroup(
            returning: Result<UpstreamReply, UpstreamError>.self
        ) { group in
            group.addTask {
                for await _ in departures { break }
                guard (try? await self.clock.sleep(for: Limits.silenceTime)) != nil else { return }
                self.originStates.noteSilence(request.origin.name)
            }
            defer { group.cancelAll() }
            do throws(UpstreamError) {
                let reply = try await upstream.ask(request) {
                    onSent()
                    departure.finish()
                }
                return .success(reply)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension UpstreamBody {
    /// What can be had of a body, and whether that is all of it.
    func read(upTo limit: Int) async -> (bytes: [UInt8], isWhole: Bool) {
        var bytes: [UInt8] = []
        do throws(UpstreamError) {
            while let piece = try await next() {
                guard bytes.count + piece.count <= limit else {
                    return (bytes + piece.prefix(limit - bytes.count), false)
                }
                bytes += piece
            }
            return (bytes, true)
        } catch {
            return (bytes, false)
        }
    }
}
