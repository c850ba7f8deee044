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
        // Cancelled as this returns.
        async let _: Void = noteSilence(of: request.origin.name, after: departures)
        return try await upstream.ask(request) {
            onSent()
            departure.finish()
        }
    }

    private func noteSilence(of name: OriginName, after departures: AsyncStream<Void>) async {
        for await _ in departures { break }
        guard (try? await clock.sleep(for: Limits.silenceTime)) != nil else { return }
        originStates.noteSilence(name)
    }
}
