import LarderModel

/// The settings that two requests must have in common to share connections to the same host.
struct ConnectionSettings: Hashable {
    let connectTimeout: Duration
    let allowsPrivate: Bool
    let proxy: ProxySettings?
    let tls: TLSSettings
    let purpose: UpstreamRequest.Purpose

    /// Only the origin sees the client's certificate, and no host that it redirects to.
    init(for request: UpstreamRequest) {
        let origin = request.origin
        connectTimeout = origin.fetch.connectTimeout
        allowsPrivate = origin.allowPrivate
        proxy = origin.proxy
        var tls = origin.tls
        if request.url.originText != origin.baseURL.originText {
            tls.clientCertificate = nil
            tls.clientKey = nil
        }
        self.tls = tls
        purpose = request.purpose
    }

    /// Whether the connection's peer is the host of the URL, so that its address counts.
    var checksAddress: Bool { !allowsPrivate && proxy == nil }
}
