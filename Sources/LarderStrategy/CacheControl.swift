package import LarderModel

/// The Cache-Control directives of an answer that Larder respects (RFC 9111 5.2.2).
struct CacheControl: Equatable {
    /// The first given `max-age`; zero, which is stale, if it cannot be read (4.2.1).
    private(set) var maxAge: Duration?
    private(set) var isNoStore = false
    /// Whether the answer, or some fields of it, are only for the client that asked.
    private(set) var isPrivate = false
    /// Whether every use needs a confirmation, not only the use of some fields.
    private(set) var isNoCache = false
    /// Whether a use after the lifetime needs a confirmation.
    private(set) var isMustRevalidate = false

    /// Reads a list of directives; unknown ones count for nothing.
    init(_ value: String) {
        for directive in CacheDirective.list(value) {
            switch directive.name {
            case "no-store":
                isNoStore = true
            case "private":
                isPrivate = true
            case "no-cache" where directive.argument == nil:
                isNoCache = true
            case "must-revalidate":
                isMustRevalidate = true
            case "max-age" where maxAge == nil:
                maxAge = directive.argument.flatMap { Duration(deltaSeconds: $0) } ?? .zero
            default:
                continue
            }
        }
    }
}

/// A directive of a Cache-Control value (RFC 9111 5.2).
struct CacheDirective: Equatable {
    /// In lower case.
    let name: String
    /// Without quotes.
    let argument: String?

    static func list(_ value: String) -> [CacheDirective] {
        HeaderList.split(value, at: UInt8(ascii: ",")).map { directive in
            let parts = directive.utf8.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            return CacheDirective(
                name: parts[0].trimmed.lowercased(),
                argument: parts.count == 2 ? parts[1].trimmed.unquoted : nil
            )
        }
    }
}

extension String {
    /// The text without the quotes around it, if it has any.
    fileprivate var unquoted: String {
        let quote = UInt8(ascii: "\"")
        guard utf8.count >= 2, utf8.first == quote, utf8.last == quote else { return self }
        return String(Substring(utf8.dropFirst().dropLast()))
    }
}

/// How long an answer counts as current, and whether it may be kept (RFC 9111).
package struct Freshness: Equatable, Sendable {
    /// The end of freshness; nil for an answer that is stale from the start.
    ///
    /// A stale answer still serves every policy that also asks the network.
    package let until: Timestamp?
    /// Whether the origin allows storing the answer.
    package let mayBeStored: Bool

    /// Whether a status says that the answer to a read is what was asked for, which may be stored
    /// without a lifetime (RFC 9110 15.1).
    ///
    /// A POST that reads may get a 201: frameworks give that to each POST.
    package static func isResult(_ status: Int, of method: ReadMethod) -> Bool {
        [200, 203, 204].contains(status) || status == 201 && method != .get
    }

    /// Judges an answer's headers, received at `now`, under an origin's settings.
    ///
    /// A read with another 2xx, such as 202, has not got the resource. Its answer is stored only if
    /// the origin itself gives it a lifetime (RFC 9111 3), or if `ttl` does. A `ttl` does not count
    /// for a 202, which is not finished, and for a 205, which has no content.
    ///
    /// The lifetime is `ttl` if set, else max-age or Expires less Date (4.2.1), less the Age that
    /// the answer arrives with (4.2.3). There is no heuristic lifetime. With `Vary: *`, or with an
    /// Age that cannot be read, there is no lifetime.
    package init(
        _ headers: HeaderFields,
        status: Int = 200,
        method: ReadMethod = .get,
        settings: FetchSettings,
        now: Timestamp
    ) {
        let control = CacheControl(headers.list("Cache-Control") ?? "")
        let isStoredStatus =
            Self.isResult(status, of: method) || control.maxAge != nil || headers["Expires"] != nil
            || settings.ttl != nil && status != 202 && status != 205
        mayBeStored = isStoredStatus && (!control.isNoStore || settings.storesNoStore)
        until =
            if headers.listed("Vary").contains("*") {
                // The answers may differ by things that are not in the request (4.1).
                nil
            } else if let ttl = settings.ttl {
                now.advanced(by: ttl)
            } else if !control.isNoCache, let lifetime = Self.lifetime(control, headers, now),
                let age = headers.age
            {
                now.advanced(by: lifetime - age)
            } else {
                nil
            }
    }

    private static func lifetime(
        _ control: CacheControl,
        _ headers: HeaderFields,
        _ now: Timestamp
    ) -> Duration? {
        if let maxAge = control.maxAge { return maxAge }
        guard let expires = headers["Expires"] else { return nil }
        // 5.3: a date that cannot be read counts as past.
        guard let end = Timestamp(httpDate: expires, now: now) else { return .zero }
        let date = headers["Date"].flatMap { Timestamp(httpDate: $0, now: now) } ?? now
        return max(.zero, end.since(date))
    }
}

extension Freshness {
    /// The freshness that a redirect leaves to the answer it leads to.
    ///
    /// A permanent redirect without a lifetime takes nothing off. Any other redirect without one
    /// may lead elsewhere the next time, so the answer is stale immediately, as after `no-store`.
    /// Only the answer itself says whether it may be stored.
    init(ofRedirect status: Int, _ headers: HeaderFields, now: Timestamp) {
        let own = Freshness(headers, settings: FetchSettings(), now: now)
        let control = CacheControl(headers.list("Cache-Control") ?? "")
        let namesNone = control.maxAge == nil && !control.isNoCache && headers["Expires"] == nil
        let isLasting = namesNone && (status == 301 || status == 308)
        let least = isLasting ? Timestamp(milliseconds: .max) : own.until
        self.init(until: control.isNoStore ? nil : least, mayBeStored: true)
    }

    private init(until: Timestamp?, mayBeStored: Bool) {
        (self.until, self.mayBeStored) = (until, mayBeStored)
    }

    /// The lesser freshness of an answer and of the redirects to it, under an origin's settings.
    func limited(by redirects: Freshness?, _ settings: FetchSettings) -> Freshness {
        guard let redirects else { return self }
        let least = until.flatMap { own in redirects.until.map { min(own, $0) } }
        return Freshness(until: settings.ttl == nil ? least : until, mayBeStored: mayBeStored)
    }
}

extension Duration {
    /// Reads delta-seconds: digits and nothing else; nil for others.
    ///
    /// A larger number counts as 2³¹ seconds, which means for ever (RFC 9111 1.2.2).
    init?(deltaSeconds text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        self = .seconds(min(Int64(text) ?? .max, 2_147_483_648))
    }
}

extension HeaderFields {
    /// The age of an answer at its arrival (RFC 9111 5.1), from the first value of several.
    ///
    /// Nil if that value cannot be read.
    var age: Duration? {
        guard let value = list("Age") else { return .zero }
        let first = value.prefix { $0 != "," }
        return Duration(deltaSeconds: String(first.filter { $0 != " " && $0 != "\t" }))
    }
}

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
