/// An HTTP proxy that requests go through, as `http://user:password@host:port`.
package struct ProxySettings: Hashable, Sendable {
    package struct Credentials: Hashable, Sendable {
        package let user: String
        package let password: String
    }

    package let host: String
    package let port: Int
    package let credentials: Credentials?

    /// Accepts only http, without a path, a query or a fragment.
    ///
    /// The error does not repeat the text, which may hold a password.
    package init(_ text: String) throws(ModelError) {
        let scheme = "http://"
        guard text.utf8.prefix(scheme.utf8.count).elementsEqual(scheme.utf8) else {
            throw .badProxy(reason: "it begins with http://, also for https origins")
        }
        let authority = text.utf8.dropFirst(scheme.utf8.count)
        let at = authority.lastIndex(of: UInt8(ascii: "@"))
        let place = at.map { authority[authority.index(after: $0)...] } ?? authority
        guard let url = try? WebURL(scheme + String(Substring(place))) else {
            throw .badProxy(reason: "http:// must be followed by a host, and optionally a port")
        }
        guard url.pathAndQuery == "/", !place.contains(UInt8(ascii: "#")) else {
            throw .badProxy(reason: "it has a path, a query or a fragment")
        }
        host = url.host
        port = url.port
        credentials = try at.map { (end) throws(ModelError) in
            try Credentials(authority[..<end])
        }
    }

    /// The URL that ``init(_:)`` reads back.
    package var text: String {
        let place = "\(host):\(port)"
        guard let credentials else { return "http://\(place)" }
        let user = PercentCoding.encode(credentials.user)
        return "http://\(user):\(PercentCoding.encode(credentials.password))@\(place)"
    }

    package var maskedText: String { credentials == nil ? text : "http://***@\(host):\(port)" }
}

extension ProxySettings.Credentials {
    /// Reads `user:password`, percent-encoded.
    fileprivate init(_ text: Substring.UTF8View) throws(ModelError) {
        let name = text.prefix(while: { $0 != UInt8(ascii: ":") })
        guard let user = PercentCoding.decoded(name),
            let password = PercentCoding.decoded(text.dropFirst(name.count + 1)),
            (user + password).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw .badProxy(reason: "its user or password is not percent-encoded UTF-8") }
        self.user = user
        self.password = password
    }
}

/// TLS settings of an origin in addition to the system's.
package typealias TLSSettings = [TLSKey: PEMFile]

/// The keys under an origin's `tls`.
package enum TLSKey: String, Sendable, CaseIterable {
    /// The roots that are trusted in place of the system's.
    case caFile = "ca_file"
    /// The client's certificate, with those that lead from it to its root.
    case clientCertificate = "client_cert"
    /// The key of ``clientCertificate``; one is never there without the other.
    case clientKey = "client_key"
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
