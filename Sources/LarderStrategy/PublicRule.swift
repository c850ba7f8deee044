package import LarderModel

/// Decides which URLs the user of a personal daemon may fetch without naming an origin.
///
/// These are URLs of public hosts over https. The rule applies before the name is looked up; the
/// connected address is checked, too.
package enum PublicRule {
    package static func admits(_ url: WebURL) -> Bool {
        guard url.isSecure else { return false }
        switch HostKind(url.host) {
        case .address(let bytes): return !AddressRule.refuses(bytes)
        case .malformed: return false
        case .name: return isPublic(name: Substring(url.host))
        }
    }

    /// Whether the name has several labels, none empty or with an underscore, in no local domain.
    private static func isPublic(name: Substring) -> Bool {
        let whole = name.utf8.last == UInt8(ascii: ".") ? name.dropLast() : name
        let labels = whole.split(separator: ".", omittingEmptySubsequences: false)
        let areLabels = labels.allSatisfy { !$0.isEmpty && !$0.utf8.contains(UInt8(ascii: "_")) }
        guard labels.count > 1, areLabels else { return false }
        return !localDomains.contains { ".\(whole)".hasSuffix($0) }
    }

    /// Names that a local network or this machine answers for.
    ///
    /// RFC 6761 6.3, RFC 6762 and RFC 8375 name them; ICANN reserved `.internal` in 2024.
    private static let localDomains = [".localhost", ".local", ".internal", ".home.arpa"]
}
