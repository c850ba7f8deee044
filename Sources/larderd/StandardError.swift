import Glibc

/// The stream for messages.
enum StandardError {
    /// Writes one line at once, so that lines of several threads do not mix.
    ///
    /// Nobody is left to hear of a failure.
    static func write(_ line: String) {
        var text = line.replacing("\n", with: " ") + "\n"
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
