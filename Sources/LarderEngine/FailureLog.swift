import LarderModel
import LarderStore
import Logging
import Synchronization

/// Logs failures of the store, in each span of ``Limits/noticeTime`` only the first few of an event.
///
/// A disk that fails may do so at every request.
final class FailureLog: Sendable {
    private struct Span {
        let end: Duration
        var count = 1
    }

    /// The last span of each event.
    private let spans = Mutex<[String: Span]>([:])

    /// Takes the moment from a monotonic clock.
    func write(
        _ event: Logger.Message,
        _ error: StoreError,
        of id: EntryID?,
        to logger: Logger,
        at moment: Duration
    ) {
        guard let leftOut = count("\(event)", at: moment) else { return }
        var fields: [LogKey: Logger.MetadataValue] = [.reason: "\(error.message)"]
        (fields[.statement], fields[.id]) = (error.statement.map { "\($0)" }, id.map { "\($0)" })
        if leftOut > 0 { fields[.count] = "\(leftOut)" }
        logger.warning(event, metadata: .larder(fields))
    }

    /// How many of an event were left out in the span before this one; nil if this one is left out.
    private func count(_ event: String, at moment: Duration) -> Int? {
        spans.withLock { spans in
            let last = spans[event]
            guard var span = last, moment < span.end else {
                spans[event] = Span(end: moment + Limits.noticeTime)
                return max(0, (last?.count ?? 0) - Limits.noticesMax)
            }
            span.count += 1
            spans[event] = span
            return span.count <= Limits.noticesMax ? 0 : nil
        }
    }
}
