import LarderModel
import LarderUpstream

/// Notes it when an origin has said nothing for ``Limits/silenceTime`` since the request left; the
/// request goes on.
///
/// The time for which it waits for one of our own connections is not the origin's.
struct SilenceWatch {
    private let context: EngineContext
    private let origin: OriginName

    init(_ context: EngineContext, _ origin: OriginName) {
        self.context = context
        self.origin = origin
    }

    /// Runs `ask` while the watch is kept; it begins when `ask` calls what it is given.
    func during(
        _ ask: (@escaping @Sendable () -> Void) async throws(UpstreamError) -> UpstreamReply
    ) async throws(UpstreamError) -> UpstreamReply {
        let (departures, departure) = AsyncStream<Void>.makeStream()
        let result = await withDiscardingTaskGroup(
            returning: Result<UpstreamReply, UpstreamError>.self
        ) { group in
            group.addTask { [context, origin] in
                for await _ in departures { break }
                guard (try? await context.clock.sleep(for: Limits.silenceTime)) != nil else {
                    return
                }
                context.noteSilence(origin)
            }
            defer { group.cancelAll() }
            do throws(UpstreamError) {
                return .success(try await ask { departure.finish() })
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
