public import FoundationEssentials
import LarderJSON
import LarderModel
package import LarderWire

/// A server that the daemon may ask, by its name.
public struct Origin: Equatable, Sendable {
    package let report: OriginReport

    /// Its name.
    public var name: String { report.settings.name.text }
    /// The URL that its own begin with.
    public var baseURL: String { report.settings.baseURL.text }
    /// Where it comes from.
    public var source: Source {
        switch report.source {
        case .file(let path): .file(path)
        case .api: .api
        case .implicit: .implicit
        }
    }
    /// What the last requests told.
    public var state: DaemonStatus.Origin.State { DaemonStatus.Origin.State(report.state) }
    /// Since when; nil while nothing was asked of it.
    public var since: Date? { report.since.map { Date($0) } }
    /// Whether it was set offline, so that nothing leaves for it.
    public var isOfflineByHand: Bool { report.isOfflineByHand }
    /// Until when what nobody asks for leaves it alone, as it has told some account to wait; nil
    /// where it has not.
    public var restsUntil: Date? { report.restsUntil.map { Date($0) } }
    /// Whether it may live on loopback or a private address.
    public var allowsPrivate: Bool { report.settings.allowPrivate }
    /// Where else its redirects may lead.
    public var redirectHosts: [String] { report.settings.redirectHosts.map(\.description) }
    /// Whether its answers are kept once and seen by everybody, where their client has used no
    /// credential of its own.
    public var isShared: Bool { report.settings.scope == .shared }
    /// Which objects in its answers are entities, as the configuration has it; nil: its answers
    /// are only stored whole.
    public var normalize: JSON? {
        // Our own writer's.
        report.settings.normalize.flatMap { try? JSON(JSONValue(parsing: $0.encoded())) }
    }

    /// Where an origin comes from.
    public enum Source: Equatable, Sendable {
        /// This file of the configuration.
        case file(String)
        /// It was added while the daemon ran, and is kept over its end.
        case api
        /// Nobody named it: it is a public host that the user of a daemon of one's own asked.
        case implicit
    }
}

/// An origin that is to be added: `base_url` is all that one needs.
public struct OriginDefinition: Equatable, Sendable {
    /// 1 to 64 letters, digits, `.`, `_` and `-`.
    public var name: String
    /// Scheme, host, and where needed port and path.
    public var baseURL: String
    /// Whether it may live on loopback or a private address.
    public var allowsPrivate = false
    /// Where else its redirects may lead: hosts, each with a port if it is not the scheme's.
    public var redirectHosts: [String] = []
    /// Whether its answers are kept once and seen by everybody.
    public var isShared = false
    /// What its connections go through: `http://USER:PASSWORD@HOST:PORT`.
    public var proxy: String?
    /// The roots that are trusted in place of the system's: a file of PEM where the daemon is.
    public var caFile: String?
    /// A file with the certificate that the daemon shows.
    public var clientCertificate: String?
    /// A file with its key.
    public var clientKey: String?
    /// Sent with each request to it.
    public var headers: [Header] = []
    /// Which objects in its answers are entities, as the configuration has it, such as
    /// `["by_type": true]`; nil: its answers are only stored whole.
    public var normalize: JSON?

    /// A header field.
    public struct Header: Equatable, Sendable {
        /// Its name.
        public var name: String
        /// Its value.
        public var value: String

        /// A field with a name and a value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// An origin at `baseURL` with every default.
    public init(name: String, baseURL: String) {
        self.name = name
        self.baseURL = baseURL
    }
}

extension OriginDefinition {
    /// As it travels; refused where the daemon would refuse it, but for ``normalize``, which it
    /// judges itself.
    var command: OriginCommand {
        get throws(ModelError) {
            guard let normalize else { return OriginCommand(try settings) }
            return OriginCommand(try settings, normalize: normalize.value)
        }
    }

    private var settings: OriginSettings {
        get throws(ModelError) {
            var origin = OriginSettings(
                name: try OriginName(name),
                baseURL: try WebURL(baseURL)
            )
            origin.allowPrivate = allowsPrivate
            for host in redirectHosts { origin.redirectHosts.append(try HostPort(host)) }
            origin.scope = isShared ? .shared : .user
            if let proxy { origin.proxy = try ProxySettings(proxy) }
            origin.tls.caFile = caFile.map { PEMFile(path: $0, bytes: []) }
            origin.tls.clientCertificate = clientCertificate.map { PEMFile(path: $0, bytes: []) }
            origin.tls.clientKey = clientKey.map { PEMFile(path: $0, bytes: []) }
            for header in headers { origin.headers.append(header.name, header.value) }
            return origin
        }
    }
}

/// What came of asking an origin just now.
public struct OriginCheck: Equatable, Sendable {
    package let report: OriginCheckReport

    /// What was asked.
    public var url: String { report.url.text }
    /// What it answered; nil where it did not.
    public var status: Int? { report.status }
    /// From the wish to the answer's head, the connection's making included.
    public var latency: Duration { report.latency }
    /// The address and port that the connection led to: the proxy's if there is one.
    public var peer: String? { report.peer }
    /// `HTTP/1.1` or `HTTP/2`.
    public var httpVersion: String? { report.httpVersion }
    /// `TLS 1.3`, always with the certificate verified; nil without TLS.
    public var tlsVersion: String? { report.tlsVersion }
    /// Why it counts as not answering.
    public var problem: Problem? { report.problem }
}
