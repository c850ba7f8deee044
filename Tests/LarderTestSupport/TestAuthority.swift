import Glibc

/// A root of trust of a test's own, made when the test runs, and the certificates that it issues.
///
/// `openssl` makes them, in a directory that goes with the authority.
package final class TestAuthority: Sendable {
    /// A certificate and its key, in files of PEM.
    package struct Identity: Sendable {
        package let certificate: String
        package let key: String
    }

    /// How long a certificate is good for.
    package enum Validity: String, Sendable {
        case tomorrow = "1"
        /// Its time was over yesterday.
        case yesterday = "-1"
    }

    package let directory: TemporaryDirectory
    package var root: String { directory.path("root.pem") }

    package init() throws {
        directory = try TemporaryDirectory()
        try openssl(
            ["req", "-x509", "-days", "1", "-subj", "/CN=larder test root"] + Self.newKey
                + ["-keyout", directory.path("root.key"), "-out", root]
        )
    }

    /// Issues a certificate for `names`, each a DNS name or an address of IPv4.
    package func issue(
        _ file: String,
        for names: [String],
        until validity: Validity = .tomorrow
    ) throws -> Identity {
        let identity = Identity(
            certificate: directory.path("\(file).pem"),
            key: directory.path("\(file).key")
        )
        let alternatives = names.map { name in
            name.allSatisfy { $0.isNumber || $0 == "." } ? "IP:\(name)" : "DNS:\(name)"
        }
        try directory.write(
            "\(file).ext",
            "subjectAltName=\(alternatives.joined(separator: ","))\n"
        )
        let request = directory.path("\(file).csr")
        try openssl(
            ["req", "-new", "-subj", "/CN=larder test"] + Self.newKey
                + ["-keyout", identity.key, "-out", request]
        )
        try openssl([
            "x509", "-req", "-in", request, "-CA", root, "-CAkey", directory.path("root.key"),
            "-days", validity.rawValue, "-extfile", directory.path("\(file).ext"),
            "-out", identity.certificate,
        ])
        return identity
    }

    /// Writes a key anew with a passphrase.
    package func protectKey(_ key: String) throws -> String {
        let path = directory.path("protected.key")
        try openssl(["ec", "-in", key, "-aes128", "-passout", "pass:secret", "-out", path])
        return path
    }

    private static let newKey = [
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
    ]

    private func openssl(_ arguments: [String]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        var pointers = (["openssl"] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var pid: pid_t = 0
        guard posix_spawnp(&pid, "openssl", &actions, nil, &pointers, environ) == 0 else {
            throw TestAuthorityError(arguments: arguments)
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw TestAuthorityError(arguments: arguments) }
    }
}

/// `openssl` is not there, or failed with these arguments.
package struct TestAuthorityError: Error {
    package let arguments: [String]
}
