import Synchronization

/// The JSON of the reports that a client reads, for a program that passes it on as the daemon sent
/// it.
///
/// A report type has the members that this version knows; a newer daemon may send more.
package final class SentReports: Sendable {
    /// The instance that notes the reports which the current task reads.
    @TaskLocal private static var current: SentReports?

    private struct State {
        var last: [UInt8] = []
        var items: ArraySlice<RawJSON>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Notes each report that `body` reads.
    package func noting<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await Self.$current.withValue(self, operation: body)
    }

    /// The last report that was read.
    package var last: RawJSON { state.withLock { RawJSON(quoting: $0.last) } }

    /// The next item of the page that was read last; nil after the last item.
    package func nextItem() throws(LarderError) -> RawJSON? {
        try state.withLock { state throws(LarderError) in
            if state.items == nil {
                let page: Page<RawJSON> = try DaemonConnection.read(state.last)
                state.items = page.items[...]
            }
            return state.items?.popFirst()
        }
    }

    static func note(_ json: [UInt8]) {
        current?.state.withLock { $0 = State(last: json) }
    }
}
