import Glibc

/// The stream for messages.
enum StandardError {
    /// Writes one line in one call, so that lines of several threads do not mix.
    ///
    /// A failure is ignored: there is no other place to report it.
    static func write(_ line: String) {
        var text = line.replacing("\n", with: " ") + "\n"
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
