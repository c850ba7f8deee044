package import LarderModel

/// One line of the answer to a fetch.
///
/// A stream has one `snapshot` or two, or in place of the second `unchanged`, `deleted` or `error`,
/// and then exactly one `end`; without that it was cut off. One that follows has further
/// `snapshot` and `deleted` before it.
package enum FetchFrame: Equatable, Sendable {
    case snapshot(SnapshotFrame)
    case unchanged(UnchangedFrame)
    case deleted(DeletedFrame)
    case error(Problem)
    case end(EndFrame)
}

/// Who gave an answer.
package enum AnswerSource: String, Sendable {
    case cache
    case network
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

/// The origin says that it is gone.
package struct DeletedFrame: Equatable, Sendable {
    package var revision: Revision
    /// 404 or 410.
    package var status: Int

    package init(revision: Revision, status: Int) {
        self.revision = revision
        self.status = status
    }
}
