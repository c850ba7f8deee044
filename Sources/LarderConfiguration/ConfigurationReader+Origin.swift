import LarderModel

/// What stands under an origin's name.
private struct OriginParts {
    var baseURL: (url: WebURL, place: ConfigurationPlace)?
    var allowPrivate = false
    var redirectHosts: [HostPort] = []
    var isShared = false
    var proxy: ProxySettings?
    var tls = TLSSettings()
    var headers = HeaderFields()
    var fetch = FetchSettings()
    var normalize: NormalizeRules?
    var modifiers = ModifierRules()

    func settings(_ name: OriginName, _ baseURL: WebURL) -> OriginSettings {
        var origin = OriginSettings(name: name, baseURL: baseURL)
        origin.allowPrivate = allowPrivate
        origin.redirectHosts = redirectHosts
        origin.isShared = isShared
        origin.proxy = proxy
        origin.tls = tls
        origin.headers = headers
        origin.fetch = fetch
        origin.normalize = normalize
        origin.modifiers = modifiers
        return origin
    }
}

extension ConfigurationReader {
    /// Reads everything under the origin's name, also where the name itself is wrong.
    mutating func origin(
        _ part: Item,
        named name: OriginName?
    ) -> (OriginSettings, place: ConfigurationPlace)? {
        let path = "origins.\(part.name)"
        let count = findings.count
        var parts = OriginParts()
        var hasAddress = false
        var headersPlace = part.place
        for (key, item) in keyed(part.value, at: path, by: OriginKey.self) {
            if key == .baseURL { hasAddress = true }
            if key == .headers { headersPlace = item.place }
            read(key, item, at: path, into: &parts)
        }
        // It would stand in place of each modifier's own key.
        let header = parts.modifiers.idempotency.header
        if parts.headers[header] != nil {
            report(
                headersPlace,
                "\(path).headers has '\(header)', which carries the key of each modifier"
            )
        }
        if !hasAddress, findings.count == count {
            report(part.place, "\(path) needs a base_url")
        }
        guard let name, let (url, place) = parts.baseURL else { return nil }
        return (parts.settings(name, url), place)
    }

    private mutating func read(
        _ key: OriginKey,
        _ item: Item,
        at path: String,
        into parts: inout OriginParts
    ) {
        switch key {
        case .baseURL:
            let place = place(of: item.value)
            parts.baseURL = value(item, at: path, Setting.baseURL).map { ($0, place) }
        case .allowPrivate:
            set(&parts.allowPrivate, item, at: path, Setting.truth)
        case .redirectHosts: parts.redirectHosts = redirectHosts(item, at: path)
        case .shared:
            set(&parts.isShared, item, at: path, Setting.truth)
        case .proxy: parts.proxy = proxy(item, at: path)
        case .tls: parts.tls = tls(item, at: "\(path).tls")
        case .headers: parts.headers = headers(item, at: "\(path).headers")
        case .fetch: parts.fetch = fetchSettings(item, at: "\(path).fetch")
        case .normalize:
            parts.normalize = normalizeRules(item, at: "\(path).normalize")
        case .modifiers:
            parts.modifiers = modifierRules(item, at: "\(path).modifiers")
        }
    }

    private mutating func redirectHosts(_ part: Item, at path: String) -> [HostPort] {
        var hosts: [HostPort] = []
        for setting in list(part, at: "\(path).redirect_hosts") {
            guard !setting.isNull else {
                report(setting.place, "\(path).redirect_hosts: null is no host")
                continue
            }
            let host = collect { () throws(ConfigurationFinding) in try setting.hostPort() }
            guard let host else { continue }
            guard hosts.count < Limits.redirectHostsMax else {
                report(setting.place, "at most \(Limits.redirectHostsMax) hosts are taken")
                break
            }
            if !hosts.contains(host) { hosts.append(host) }
        }
        return hosts
    }

    private mutating func proxy(_ part: Item, at path: String) -> ProxySettings? {
        let setting = secret(part, at: "\(path).proxy")
        guard let setting, !setting.isNull else { return nil }
        return collect { () throws(ConfigurationFinding) in try setting.proxy() }
    }

    private mutating func tls(_ part: Item, at path: String) -> TLSSettings {
        let count = findings.count
        var tls = TLSSettings()
        var places: [TLSKey: ConfigurationPlace] = [:]
        for (key, item) in keyed(part.value, at: path, by: TLSKey.self) {
            let setting = settingOrNull(item, at: "\(path).\(item.name)")
            guard let setting, !setting.isNull else { continue }
            places[key] = setting.place
            tls[key] = collect { () throws(ConfigurationFinding) in try setting.pemFile() }
        }
        for (key, other) in [
            (TLSKey.clientCertificate, TLSKey.clientKey), (.clientKey, .clientCertificate),
        ] {
            guard let place = places[key], places[other] == nil else { continue }
            report(place, "\(path).\(key.rawValue) needs \(other.rawValue) beside it")
        }
        if findings.count == count, let fault = checkTLS(tls) {
            report(
                places[fault.key] ?? part.place,
                "\(path).\(fault.key.rawValue): the file \(fault.reason)"
            )
        }
        return tls
    }

    private mutating func headers(_ part: Item, at path: String) -> HeaderFields {
        var headers = HeaderFields()
        for item in items(of: part.value, at: path) {
            let name = collect { () throws(ConfigurationFinding) in
                try Setting(text: item.name, place: item.place).headerName()
            }
            let value = secret(item, at: "\(path).\(item.name)")
            guard let value else { continue }
            guard !value.isNull else {
                report(value.place, "\(path).\(item.name) has no value")
                continue
            }
            let text = collect { () throws(ConfigurationFinding) in try value.headerValue() }
            guard let name, let text else { continue }
            if headers[name] == nil {
                headers.append(name, text)
            } else {
                report(item.place, "'\(name)' stands here a second time; case makes no difference")
            }
        }
        return headers
    }

    /// A value that may be a secret: itself, or `{file: PATH}`, whose line it is.
    private mutating func secret(_ part: Item, at path: String) -> Setting? {
        guard case .mapping = part.value.kind else {
            return settingOrNull(part, at: path)
        }
        guard !file.isEmpty else {
            report(part.place, "\(path): files of values are for the configuration, give the value")
            return nil
        }
        var secret: Setting?
        let count = findings.count
        for item in items(of: part.value, at: path) {
            guard item.name == "file" else {
                reportUnknown(item, at: path, among: ["file"])
                return nil
            }
            secret = value(item, at: path, Setting.secretFile)
        }
        if secret == nil, findings.count == count {
            report(place(of: part.value), "\(path) needs a file: {file: PATH}")
        }
        return secret
    }

    private mutating func fetchSettings(_ part: Item, at path: String) -> FetchSettings {
        var fetch = FetchSettings()
        for (key, item) in keyed(part.value, at: path, by: FetchKey.self) {
            let setting =
                key == .ttl
                ? settingOrNull(item, at: "\(path).ttl")
                : setting(item, at: "\(path).\(item.name)")
            guard let setting else { continue }
            var new = fetch
            let taken: Void? = collect { () throws(ConfigurationFinding) in
                try new.set(key, to: setting)
            }
            if taken != nil { fetch = new }
        }
        return fetch
    }

    mutating func value<Value>(
        _ item: Item,
        at path: String,
        _ read: (Setting) -> () throws(ConfigurationFinding) -> Value
    ) -> Value? {
        setting(item, at: "\(path).\(item.name)").flatMap { collect(read($0)) }
    }

    /// The same into a variable, which keeps its value where there is none to take.
    mutating func set<Value>(
        _ variable: inout Value,
        _ item: Item,
        at path: String,
        _ read: (Setting) -> () throws(ConfigurationFinding) -> Value
    ) {
        if let value = value(item, at: path, read) { variable = value }
    }
}
