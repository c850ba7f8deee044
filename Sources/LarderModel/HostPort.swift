/// A host with or without a port, as `redirect_hosts` names it.
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
    /// Lower case; an IPv6 address with its brackets.
    package let host: String
    /// Nil stands for the default port of whichever scheme is used.
    package let port: Int?

    package var description: String { port.map { "\(host):\($0)" } ?? host }

    /// Reads `cdn.example.com`, `cdn.example.com:8443` and `[2001:db8::1]:8443`.
    package init(_ text: String) throws(ModelError) {
        let delimiters = Set("/?#@\\".utf8)
        guard !text.utf8.contains(where: delimiters.contains), text.utf8.last != UInt8(ascii: ":"),
            let url = try? WebURL("https://\(text)")
        else { throw .badHost(text) }
        host = url.host
        let namesPort = text.utf8.last != UInt8(ascii: "]") && text.utf8.count > url.host.utf8.count
        port = namesPort ? url.port : nil
    }

    /// Whether the URL's host and port are these.
    package func covers(_ url: WebURL) -> Bool {
        url.host == host && url.port == (port ?? url.defaultPort)
    }
}
