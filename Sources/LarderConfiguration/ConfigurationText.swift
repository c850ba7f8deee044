import LarderModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Reads the file as it is; nil when there is none.
func configurationText(of file: String) throws(ConfigurationError) -> String? {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
        let code = errno
        guard code != ENOENT, code != ENOTDIR else { return nil }
        throw .unreadable(file: file, reason: String(cString: strerror(code)))
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &piece, piece.count)
        if count == 0 { break }
        guard count > 0 else {
            let code = errno
            if code == EINTR { continue }
            throw .unreadable(file: file, reason: String(cString: strerror(code)))
        }
        bytes += piece[..<count]
        guard bytes.count <= Limits.configurationFileBytesMax else {
            throw .unreadable(
                file: file,
                reason: "it has more than \(Limits.configurationFileBytesMax) bytes"
            )
        }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
        throw .unreadable(file: file, reason: "it is not UTF-8")
    }
    return text
}
