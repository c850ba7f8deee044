package import LarderModel

/// One origin, as `GET /v1/origins` tells of it.
package struct OriginReport: OriginConditionTelling, Equatable, Sendable {
    /// How it is asked; of its secrets only that they are there travels.
    package var settings: OriginSettings
    package var source: OriginSource
    package var condition: OriginCondition

    package init(settings: OriginSettings, source: OriginSource, condition: OriginCondition) {
        self.settings = settings
        self.source = source
        self.condition = condition
    }
}

/// What `POST /v1/origins/{name}/check` answers: what came of asking it just now.
package struct OriginCheckReport: Equatable, Sendable {
    package var name: OriginName
    package var url: WebURL
    /// From the wish to the answer's head, the connection's making included.
    package var latency: Duration
    /// What it answered; nil where it did not.
    package var status: Int?
    /// The address and port that the connection led to; nil where none came about.
    package var peer: String?
    /// Whether that is the proxy's.
    package var isPeerProxy = false
    package var httpVersion: String?
    /// Always with the certificate verified; nil without TLS.
    package var tlsVersion: String?
    /// Why it counts as not answering; its request id does not travel.
    package var problem: Problem?

    package init(name: OriginName, url: WebURL, latency: Duration) {
        self.name = name
        self.url = url
        self.latency = latency
    }
}
