import LarderModel
import LarderUpstream

/// Notes it when an origin has said nothing for ``Limits/silenceTime``; the request goes on.
struct SilenceWatch {
    private let context: EngineContext
    private let origin: OriginName

    init(_ context: EngineContext, _ origin: OriginName) {
        self.context = context
        self.origin = origin
    }

    /// Runs `ask` while the watch is kept.
    func during(
        _ ask: () async throws(UpstreamError) -> UpstreamReply
    ) async throws(UpstreamError) -> UpstreamReply {
        let result = await withDiscardingTaskGroup(
            returning: Result<UpstreamReply, UpstreamError>.self
        ) { group in
            group.addTask { [context, origin] in
                guard (try? await context.clock.sleep(for: Limits.silenceTime)) != nil else {
                    return
                }
                context.noteSilence(origin)
            }
            defer { group.cancelAll() }
            do throws(UpstreamError) {
                return .success(try await ask())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
