import LarderModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Why a file cannot be read, in words.
struct FileFault: Error, Equatable {
    let reason: String
}

/// Reads the file as it is; nil when there is none.
func fileBytes(of file: String, bytesMax: Int) throws(FileFault) -> [UInt8]? {
    // Not to wait where somebody put a pipe.
    let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
        let code = errno
        guard code != ENOENT, code != ENOTDIR else { return nil }
        throw FileFault(reason: String(cString: strerror(code)))
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &piece, piece.count)
        if count == 0 { return bytes }
        guard count > 0 else {
            let code = errno
            if code == EINTR { continue }
            throw FileFault(reason: String(cString: strerror(code)))
        }
        bytes += piece[..<count]
        guard bytes.count <= bytesMax else {
            throw FileFault(reason: "it has more than \(bytesMax) bytes")
        }
    }
}

/// Reads a file of the configuration; nil when there is none.
func configurationText(of file: String) throws(ConfigurationError) -> String? {
    let bytes: [UInt8]?
    do throws(FileFault) {
        bytes = try fileBytes(of: file, bytesMax: Limits.configurationFileBytesMax)
    } catch {
        throw .unreadable(file: file, reason: error.reason)
    }
    guard let bytes else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
        throw .unreadable(file: file, reason: "it is not UTF-8")
    }
    return text
}

/// The names of what is in a folder, sorted; none when there is no such folder.
func names(inFolder path: String) throws(FileFault) -> [String] {
    guard let folder = opendir(path) else {
        let code = errno
        guard code != ENOENT, code != ENOTDIR else { return [] }
        throw FileFault(reason: String(cString: strerror(code)))
    }
    defer { closedir(folder) }
    var names: [String] = []
    while let item = readdir(folder) {
        let name = withUnsafePointer(to: &item.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
}
