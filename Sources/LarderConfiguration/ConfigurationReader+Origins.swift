import LarderModel
import Yams

extension ConfigurationReader {
    /// The origins that are right, sorted by name.
    mutating func origins(_ part: Item, in document: ConfigurationDocument) -> [OriginSettings] {
        var origins: [OriginSettings] = []
        var namesByAddress: [String: OriginName] = [:]
        for item in items(of: part.value, at: "origins", in: document) {
            let name = collect { () throws(ConfigurationFinding) in
                try Setting(text: item.name, place: item.place).originName()
            }
            guard let (origin, place) = origin(item, named: name, in: document) else { continue }
            if let other = namesByAddress[origin.baseURL.address] {
                report(
                    place,
                    "origins.\(origin.name) has the base_url of origins.\(other); "
                        + "an address belongs to one origin"
                )
                continue
            }
            namesByAddress[origin.baseURL.address] = origin.name
            origins.append(origin)
        }
        return origins.sorted { $0.name < $1.name }
    }

    /// Reads everything under the origin's name, also where the name itself is wrong.
    private mutating func origin(
        _ part: Item,
        named name: OriginName?,
        in document: ConfigurationDocument
    ) -> (OriginSettings, place: ConfigurationPlace)? {
        let path = "origins.\(part.name)"
        let count = findings.count
        var baseURL: (url: WebURL, place: ConfigurationPlace)?
        var allowPrivate = false
        var headers = HeaderFields()
        var fetch = FetchSettings()
        var hasAddress = false
        for item in items(of: part.value, at: path, in: document) {
            guard let key = OriginKey(rawValue: item.name) else {
                reportUnknown(item, at: path, among: OriginKey.allCases.map(\.rawValue))
                continue
            }
            switch key {
            case .baseURL:
                hasAddress = true
                baseURL = value(item, at: path, in: document) {
                    (setting) throws(ConfigurationFinding) in
                    (try setting.baseURL(), setting.place)
                }
            case .allowPrivate:
                allowPrivate =
                    value(item, at: path, in: document) {
                        (setting) throws(ConfigurationFinding) in try setting.truth()
                    } ?? false
            case .headers: headers = self.headers(item, at: "\(path).headers", in: document)
            case .fetch: fetch = fetchSettings(item, at: "\(path).fetch", in: document)
            }
        }
        if !hasAddress, findings.count == count {
            report(part.place, "\(path) needs a base_url")
        }
        guard let name, let baseURL else { return nil }
        var origin = OriginSettings(name: name, baseURL: baseURL.url)
        origin.allowPrivate = allowPrivate
        origin.headers = headers
        origin.fetch = fetch
        return (origin, baseURL.place)
    }

    private mutating func headers(
        _ part: Item,
        at path: String,
        in document: ConfigurationDocument
    ) -> HeaderFields {
        var headers = HeaderFields()
        for item in items(of: part.value, at: path, in: document) {
            let name = collect { () throws(ConfigurationFinding) in
                try Setting(text: item.name, place: item.place).headerName()
            }
            let text = value(item, at: path, in: document) {
                (setting) throws(ConfigurationFinding) in try setting.headerValue()
            }
            guard let name, let text else { continue }
            if headers[name] == nil {
                headers.append(name, text)
            } else {
                report(item.place, "'\(name)' stands here a second time; case makes no difference")
            }
        }
        return headers
    }

    private mutating func fetchSettings(
        _ part: Item,
        at path: String,
        in document: ConfigurationDocument
    ) -> FetchSettings {
        var fetch = FetchSettings()
        for item in items(of: part.value, at: path, in: document) {
            guard let key = FetchKey(rawValue: item.name) else {
                reportUnknown(item, at: path, among: FetchKey.allCases.map(\.rawValue))
                continue
            }
            let setting =
                key == .ttl
                ? settingOrNull(item, at: "\(path).ttl", in: document)
                : setting(item, at: "\(path).\(item.name)", in: document)
            guard let setting else { continue }
            var new = fetch
            let taken: Void? = collect { () throws(ConfigurationFinding) in
                try new.set(key, to: setting)
            }
            if taken != nil { fetch = new }
        }
        return fetch
    }

    private mutating func value<Value>(
        _ item: Item,
        at path: String,
        in document: ConfigurationDocument,
        _ read: (Setting) throws(ConfigurationFinding) -> Value
    ) -> Value? {
        guard let setting = setting(item, at: "\(path).\(item.name)", in: document) else {
            return nil
        }
        return collect { () throws(ConfigurationFinding) in try read(setting) }
    }
}

extension WebURL {
    /// What two origins may not share: a slash at the end makes no other address.
    fileprivate var address: String {
        pathAndQuery.hasSuffix("/") ? String(text.dropLast()) : text
    }
}
