package import LarderModel

/// One line of the answer to a fetch.
///
/// A stream has one `snapshot` or two, or in place of the second `unchanged`, `deleted` or `error`,
/// and then exactly one `end`; without that it was cut off. In place of the first it may have a
/// `deleted` that is not the network's. One that follows has further `snapshot` and `deleted` before
/// it, and `origin` whenever its origin goes and returns. Heartbeats come anywhere behind the first.
package enum FetchFrame: Equatable, Sendable {
    case snapshot(SnapshotFrame)
    case unchanged(UnchangedFrame)
    case deleted(DeletedFrame)
    case error(Problem)
    /// The origin is in another state, as of a revision.
    case origin(Revision, OriginName, state: String)
    /// Everything of what is shown up to a revision was told.
    case heartbeat(Revision)
    case end(EndFrame)
}

/// Who gave an answer.
package enum AnswerSource: String, Sendable {
    case cache
    case network
    /// Modifiers that are not settled: no server has said it.
    case modifier
}

/// The network has what the client was shown already.
package struct UnchangedFrame: Equatable, Sendable {
    package var revision: Revision
    /// The origin's status: 304, or 200 with the same bytes.
    package var status: Int

    package init(revision: Revision, status: Int) {
        self.revision = revision
        self.status = status
    }
}

/// It is gone: its origin says so or has said so, or a write that waits to be sent.
package struct DeletedFrame: Equatable, Sendable {
    package var source: AnswerSource
    package var revision: Revision
    /// 404 or 410.
    package var status: Int

    package init(source: AnswerSource = .network, revision: Revision, status: Int) {
        self.source = source
        self.revision = revision
        self.status = status
    }
}
