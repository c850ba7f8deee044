/// How far a download has come.
public struct DownloadProgress: Equatable, Sendable {
    /// The bytes that are in the file.
    public let receivedBytes: Int64
    /// How many there will be; nil where nobody said.
    public let totalBytes: Int64?

    package init(receivedBytes: Int64, totalBytes: Int64?) {
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }
}
