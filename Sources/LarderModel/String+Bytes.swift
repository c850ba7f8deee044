#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension String {
    /// Whether both have the same bytes of UTF-8.
    ///
    /// SQLite, HTTP and file systems compare so. `==` does not: to it composed and decomposed
    /// letters are the same.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withBytes { left in
            other.withBytes { right in
                guard let own = left.baseAddress, let other = right.baseAddress else {
                    return true
                }
                return memcmp(own, other, left.count) == 0
            }
        }
    }

    /// Feeds the bytes of UTF-8, and an end that no UTF-8 contains.
    func hashBytes(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8.max)
    }

    /// Calls `body` with the bytes of UTF-8, where they lie if they lie in one piece.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        utf8.withContiguousStorageIfAvailable(body) ?? Array(utf8).withUnsafeBufferPointer(body)
    }
}
