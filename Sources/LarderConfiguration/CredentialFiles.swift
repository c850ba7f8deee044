import LarderModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension Configuration {
    /// Reads the files of the origins' credentials again; returns whether a value is another one.
    ///
    /// If a file cannot be read or has no valid value, the last value stays: the file may be being
    /// written.
    package mutating func readCredentialFiles() -> Bool {
        var hasChanged = false
        for index in origins.indices {
            guard let credential = origins[index].credential,
                let value = try? Setting(
                    text: credential.file,
                    place: .file(credential.file, line: 1, column: 1)
                )
                .secretFile().credential(in: credential.header),
                value != credential.value
            else { continue }
            origins[index].credential?.value = value
            hasChanged = true
        }
        return hasChanged
    }
}

/// A file with a secret on one line.
package enum SecretFile {
    /// `path` is absolute.
    package static func line(of path: String) throws(ConfigurationFinding) -> String {
        try Setting(text: path, place: .file(path, line: 1, column: 1)).secretFile().text
    }
}

/// Finds users in whatever the system keeps them in (nsswitch.conf(5)).
enum UserLookup {
    /// The number of a user given by name or number; nil if no user has the name.
    static func number(of user: String) -> UInt32? { find(user) ?? UInt32(user) }

    private static func find(_ name: String) -> UInt32? {
        var count = 4_096
        while count <= Limits.groupRecordBytesMax {
            var record = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let failure = withUnsafeTemporaryAllocation(of: CChar.self, capacity: count) { buffer in
                guard let start = buffer.baseAddress else { return ENOMEM }
                return getpwnam_r(name, &record, start, buffer.count, &found)
            }
            guard failure == ERANGE else {
                return failure == 0 && found != nil ? record.pw_uid : nil
            }
            count *= 2
        }
        return nil
    }
}
