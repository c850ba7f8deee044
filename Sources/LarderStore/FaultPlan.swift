/// Decides which SQLite operation fails; the real one is then not carried out.
///
/// Nil in the daemon. Tests fail the n-th operation, for every n.
package protocol FaultPlan: Sendable {
    /// The SQLite result code to fail with, or nil to go on; `path` is the file's.
    func failure(before step: String, of path: String) -> Int32?
}
