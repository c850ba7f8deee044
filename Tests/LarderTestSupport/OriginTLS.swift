import NIOSSL

/// How an ``OriginServer`` speaks TLS.
package struct OriginTLS: Sendable {
    package var identity: TestAuthority.Identity
    /// The file of the root that clients' certificates must lead to; nil asks for none.
    package var clientRoot: String?

    package init(_ identity: TestAuthority.Identity, clientRoot: String? = nil) {
        self.identity = identity
        self.clientRoot = clientRoot
    }

    func context() throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMFile(identity.certificate)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem))
        )
        configuration.applicationProtocols = ["http/1.1"]
        if let clientRoot {
            configuration.trustRoots = .file(clientRoot)
            configuration.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
