/// The bytes of an answer, piece by piece, once and for one reader.
///
/// The origin is read no faster than the pieces are asked for.
package struct UpstreamBody {
    private let readNext: () async throws(UpstreamError) -> [UInt8]?

    /// A body whose pieces `next` gives; nil ends it, and it is not called again after nil or an
    /// error.
    package init(_ next: @escaping () async throws(UpstreamError) -> [UInt8]?) {
        readNext = next
    }

    /// The next piece, never empty, or nil at the end.
    package func next() async throws(UpstreamError) -> [UInt8]? {
        try await readNext()
    }
}
