import LarderJSON
import LarderModel

extension OriginReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        try self.init(WireObject(parsing: bytes))
    }

    /// A list of them, as `GET /v1/origins` answers it.
    package static func encoded(_ reports: [OriginReport]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.name("items")
            json.beginArray()
            for report in reports { json.object { report.write(to: &$0) } }
            json.endArray()
            json.member("next", nil as String?)
        }
        return json.bytes
    }

    package static func list(decoding bytes: [UInt8]) throws(WireError) -> [OriginReport] {
        var reports: [OriginReport] = []
        for item in try WireObject(parsing: bytes).objects("items") {
            reports.append(try OriginReport(item))
        }
        return reports
    }

    private func write(to json: inout JSONWriter) {
        json.member("name", settings.name.text)
        json.member("base_url", settings.baseURL.text)
        json.member("source", source.word)
        json.member("file", source.file)
        condition.write(to: &json)
        json.member("settings") { settings.write(to: &$0, coversSecrets: true) }
    }

    private init(_ object: WireObject) throws(WireError) {
        let name = try object.required("name") { try? OriginName($0) }
        settings = try OriginSettings(name: name, object.object("settings"))
        source = try OriginSource(
            object.string("source"),
            file: object.optionalString("file")
        )
        condition = try OriginCondition(object)
    }
}

extension OriginSource {
    fileprivate var word: String {
        switch self {
        case .file: "file"
        case .api: "api"
        case .implicit: "implicit"
        }
    }

    fileprivate var file: String? {
        switch self {
        case .file(let path): path
        case .api, .implicit: nil
        }
    }

    fileprivate init(_ word: String, file: String?) throws(WireError) {
        switch word {
        case "file": self = .file(file ?? "")
        case "api": self = .api
        case "implicit": self = .implicit
        default: throw .unknownValue(member: "source", text: word)
        }
    }
}

extension OriginCheckReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("name", name.text)
            json.member("url", url.text)
            json.member("latency_ms", latency.tenthsOfMilliseconds)
            json.name("status")
            if let status { json.integer(status) } else { json.null() }
            json.member("peer", peer)
            json.member("peer_is_proxy", isPeerProxy)
            json.member("protocol", httpVersion)
            json.member("tls", tlsVersion)
            json.name("problem")
            if let problem { APIEncoder().encode(problem, to: &json) } else { json.null() }
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        let latency = try object.optionalTime("latency_ms") ?? .zero
        self.init(
            name: try object.required("name") { try? OriginName($0) },
            url: try object.required("url") { try? WebURL($0) },
            latency: latency
        )
        status = try object.optionalInteger("status")
        peer = try object.optionalString("peer")
        isPeerProxy = try object.bool("peer_is_proxy")
        httpVersion = try object.optionalString("protocol")
        tlsVersion = try object.optionalString("tls")
        problem = try object.value("problem") == nil ? nil : object.problem("problem")
    }
}
