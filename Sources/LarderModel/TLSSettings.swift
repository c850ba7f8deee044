/// TLS settings of an origin in addition to the system's.
package struct TLSSettings: Hashable, Sendable {
    /// The roots that are trusted in place of the system's.
    package var caFile: PEMFile?
    /// The client's certificate, with those that lead from it to its root.
    package var clientCertificate: PEMFile?
    /// The key of ``clientCertificate``; one is never there without the other.
    package var clientKey: PEMFile?

    package init() {}
}

/// The keys under an origin's `tls`.
package enum TLSKey: String, Sendable, CaseIterable {
    case caFile = "ca_file"
    case clientCertificate = "client_cert"
    case clientKey = "client_key"
}

extension TLSSettings {
    package subscript(key: TLSKey) -> PEMFile? {
        get {
            switch key {
            case .caFile: caFile
            case .clientCertificate: clientCertificate
            case .clientKey: clientKey
            }
        }
        set {
            switch key {
            case .caFile: caFile = newValue
            case .clientCertificate: clientCertificate = newValue
            case .clientKey: clientKey = newValue
            }
        }
    }
}

/// A file of certificates or keys (RFC 7468), as it was when the configuration was read.
package struct PEMFile: Hashable, Sendable {
    package let path: String
    package let bytes: [UInt8]

    package init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    /// Without the bytes, which may be many: a connection is looked up by them for each request.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(bytes.count)
    }
}

/// Fault of a file of an origin's `tls`.
package struct TLSFault: Error, Equatable, Sendable {
    package let key: TLSKey
    /// End of a sentence that begins with "the file": `holds no certificate`.
    package let reason: String

    package init(_ key: TLSKey, _ reason: String) {
        self.key = key
        self.reason = reason
    }
}
