import LarderModel
import LarderStore
import NIOCore

/// The reader of one event loop with what its connections share, used on that loop only.
final class LoopReader {
    let reader: StoreReader
    private var scopes: [Scope: ScopeKey] = [:]
    private var date = (second: Int64.min, text: "")

    init(_ reader: StoreReader, _ eventLoop: any EventLoop) {
        self.reader = reader
        endTransactions(afterTurnsOf: eventLoop)
    }

    /// A scope's key, hashed once as long as there are few of them.
    func key(for scope: Scope) -> ScopeKey {
        if let key = scopes[scope] { return key }
        if scopes.count >= Limits.connectionsMax { scopes.removeAll() }
        let key = reader.key(for: scope)
        scopes[scope] = key
        return key
    }

    /// The Date header (RFC 9110 6.6.1), printed once a second.
    func date(at now: Timestamp) -> String {
        let second = now.milliseconds / 1_000
        if date.second != second { date = (second, now.httpDate) }
        return date.text
    }

    /// Whenever the reader opens a transaction, it is ended when the loop has dealt with what was
    /// ready, before the loop waits again.
    private func endTransactions(afterTurnsOf eventLoop: any EventLoop) {
        let bound = NIOLoopBound(WeakReader(reader: reader), eventLoop: eventLoop)
        reader.transactionOpened = {
            eventLoop.assertInEventLoop()
            eventLoop.execute { bound.value.reader?.endTransaction() }
        }
    }

    private struct WeakReader {
        weak var reader: StoreReader?
    }
}
