import LarderModel

/// The numbers of the steps that the writer's open transaction takes, which are done with once both
/// files have committed, or given up.
///
/// Confined to the thread of its ``StoreWriter``.
final class StepNumbers {
    private let source: RevisionSource
    private var open: [Revision] = []
    /// Whether every change of these steps is told; else whoever watches reads the logs.
    var areAllTold = true

    init(_ source: RevisionSource) {
        self.source = source
    }

    /// Takes a number for a step.
    func next() throws(StoreError) -> Revision {
        let revision = try source.openInTransaction()
        open.append(revision)
        return revision
    }

    /// The steps are done with: after what they have changed is published, so that whoever is told
    /// reads it.
    func close() {
        source.close(open, areAll: areAllTold)
        open.removeAll(keepingCapacity: true)
        areAllTold = true
    }
}
