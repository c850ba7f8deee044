package import LarderModel

/// The origin for a public host that is not configured, named after the host.
package enum ImplicitOrigin {
    /// The origin of a URL that ``PublicRule`` admits; nil for any other.
    ///
    /// `isTaken` says whether a configured origin has a name. If it has, the implicit origin's name
    /// gets `_` at its end.
    package static func origin(
        for url: WebURL,
        isTaken: (OriginName) -> Bool
    ) -> OriginSettings? {
        guard PublicRule.admits(url), let base = try? WebURL(url.originText) else { return nil }
        let port = url.port == url.defaultPort ? "" : "_\(url.port)"
        var text = bounded(plain(url.host), port)
        while let name = try? OriginName(text) {
            guard isTaken(name) else { return OriginSettings(name: name, baseURL: base) }
            text += "_"
        }
        return nil
    }

    /// The URL of the implicit origin with this name; nil if no implicit origin has such a name.
    ///
    /// The name is a host, followed by `_` and the port if that is not 443.
    package static func baseURL(named name: OriginName) -> WebURL? {
        var text = Substring(name.text)
        while text.utf8.last == UInt8(ascii: "_") { text = text.dropLast() }
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first else { return nil }
        let port = parts.count == 2 ? ":\(parts[1])" : ""
        guard let url = try? WebURL("https://\(host)\(port)"), PublicRule.admits(url) else {
            return nil
        }
        return url
    }

    /// A name for a host that an operator adds to the configuration.
    ///
    /// The hint for an unknown origin suggests it.
    package static func suggestedName(for url: WebURL) -> OriginName? {
        let port = url.port == url.defaultPort ? "" : "-\(url.port)"
        return try? OriginName(bounded(plain(url.host), port))
    }

    /// The host without the characters that a name cannot have: the brackets and colons of IPv6.
    private static func plain(_ host: String) -> String {
        host.filter { $0 != "[" && $0 != "]" }.replacing(":", with: "-")
    }

    /// Cuts the name to ``Limits/originNameBytesMax``, with room for `_`; a cut name ends with its
    /// hash.
    private static func bounded(_ host: String, _ suffix: String) -> String {
        let room = Limits.originNameBytesMax - suffix.utf8.count - 4
        guard host.utf8.count > room else { return host + suffix }
        // FNV-1a tells long names apart; it is no protection against made-up collisions.
        let hash = host.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        let tail = "-" + String(hash, radix: 16)
        let kept = host.utf8.prefix(room - tail.utf8.count)
        return String(decoding: kept, as: UTF8.self) + tail + suffix
    }
}
