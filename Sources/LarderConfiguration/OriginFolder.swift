package import LarderAPI
package import LarderModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The folder of the state directory for origins that were added while the daemon ran.
///
/// Each has a file, which ``Configuration`` reads at the next start.
package struct OriginFolder: Sendable {
    package let path: String
    private let checkTLS: TLSCheck

    package init(inStateDirectory directory: String, checkTLS: @escaping TLSCheck) {
        path = "\(directory)/\(Configuration.originsFolder)"
        self.checkTLS = checkTLS
    }

    /// Checks the keys of an origin by the rules of the configuration file.
    @Sendable
    package func read(
        _ name: OriginName,
        _ definition: OriginDefinition
    ) throws(Problem) -> OriginSettings {
        guard !name.text.hasPrefix(".") else {
            throw Problem(.badRequest, "the name '\(name)' begins with a dot, as hidden files do")
        }
        var reader = ConfigurationReader(checkTLS: checkTLS)
        reader.readOrigin(name.text, ConfigurationDocument(definition), from: .api)
        if let first = reader.findings.first {
            throw Problem(
                first.isUnknownKey ? .unknownMember : .badRequest,
                reader.findings.map(\.words).joined(separator: "; ")
            )
        }
        guard let origin = reader.configuration.origins.first else {
            throw Problem(.badRequest, "origins.\(name) needs a base_url")
        }
        try checkFile(of: origin)
        return origin
    }

    /// Refuses what its file could not give back.
    private func checkFile(of origin: OriginSettings) throws(Problem) {
        var origin = origin
        // The TLS files have been read, and may have changed since.
        origin.tls = TLSSettings()
        let text = text(of: origin)
        guard text.utf8.count <= Limits.configurationFileBytesMax else {
            throw Problem(
                .badRequest,
                "origins.\(origin.name): as a file it would have \(text.utf8.count) bytes, at most "
                    + "\(Limits.configurationFileBytesMax) are taken"
            )
        }
        var reader = ConfigurationReader()
        reader.readOrigin(origin.name.text, text: text, file: "", from: .api)
        guard reader.configuration.origins == [origin] else {
            throw Problem(
                .badRequest,
                "origins.\(origin.name): a character in it cannot be kept in a file"
            )
        }
    }

    private func text(of origin: OriginSettings) -> String {
        origin.yamlLines(coversSecrets: false).map { $0 + "\n" }.joined()
    }

    /// Writes an origin's file, in place of one that is there; synced when it returns.
    @Sendable
    package func save(_ origin: OriginSettings) throws(Problem) {
        let (target, draft) = (file(of: origin.name), "\(path)/.\(origin.name).draft")
        try attempt("make the folder") { mkdir(path, 0o700) == 0 || errno == EEXIST }
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try attempt("make a file in it") { descriptor >= 0 }
        var isKept = false
        defer {
            close(descriptor)
            if !isKept { unlink(draft) }
        }
        try write(Array(text(of: origin).utf8), to: descriptor)
        try attempt("sync a file in it") { fsync(descriptor) == 0 }
        try attempt("rename a file in it") { rename(draft, target) == 0 }
        isKept = true
        try syncFolder()
    }

    /// Takes an origin's file away; synced when it returns.
    @Sendable
    package func remove(_ name: OriginName) throws(Problem) {
        try attempt("remove a file of it") { unlink(file(of: name)) == 0 || errno == ENOENT }
        try syncFolder()
    }

    private func file(of name: OriginName) -> String { "\(path)/\(name).yaml" }

    private func write(_ bytes: [UInt8], to descriptor: Int32) throws(Problem) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { writeSome($0, to: descriptor) }
            if count < 0, errno == EINTR { continue }
            try attempt("write a file in it") { count > 0 }
            rest = rest.dropFirst(count)
        }
    }

    private func syncFolder() throws(Problem) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // No folder is as good as an empty one.
        if descriptor < 0, errno == ENOENT { return }
        try attempt("open it") { descriptor >= 0 }
        defer { close(descriptor) }
        try attempt("sync it") { fsync(descriptor) == 0 }
    }

    /// Does one step, and says what went wrong by `errno`.
    private func attempt(_ what: String, _ step: () -> Bool) throws(Problem) {
        guard !step() else { return }
        let code = errno
        let isFull = code == ENOSPC || code == EDQUOT
        throw Problem(
            .storage,
            "\(path): cannot \(what): \(String(cString: strerror(code)))",
            status: isFull ? 507 : nil
        )
    }
}

/// Outside of the type, whose own method would hide write(2).
private func writeSome(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
