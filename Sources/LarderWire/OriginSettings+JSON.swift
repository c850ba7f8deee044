import LarderJSON
package import LarderModel

extension OriginSettings {
    /// The keys of an origin with their values, as the configuration has them.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0, coversSecrets: false) }
        return json.bytes
    }

    /// The same with these rules in place of its own, whatever they are.
    func encoded(normalize rules: JSONValue) -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0, coversSecrets: false, normalize: rules) }
        return json.bytes
    }

    /// Files of `tls` travel by their paths; secrets that are covered as `***`.
    func write(
        to json: inout JSONWriter,
        coversSecrets: Bool,
        normalize rules: JSONValue? = nil
    ) {
        json.member("base_url", baseURL.text)
        json.member("allow_private", allowPrivate)
        json.member("redirect_hosts", redirectHosts.map(\.description))
        json.member("scope", scope.rawValue)
        json.member("proxy", coversSecrets ? proxy?.maskedText : proxy?.text)
        json.member("tls") { json in
            for key in TLSKey.allCases { json.member(key.rawValue, tls[key]?.path) }
        }
        json.member("headers") { json in
            for field in headers.fields {
                json.member(field.name, coversSecrets ? "***" : field.value)
            }
        }
        json.member("fetch") { fetch.write(to: &$0) }
        json.name("normalize")
        if let rules {
            json.value(rules)
        } else if let normalize {
            json.object { normalize.write(to: &$0) }
        } else {
            json.null()
        }
        json.member("modifiers") { modifiers.write(to: &$0) }
    }

    /// Reads what was written; of a file of `tls` the path only.
    init(name: OriginName, _ object: WireObject) throws(WireError) {
        self.init(
            name: name,
            baseURL: try object.required("base_url") { try? WebURL($0) }
        )
        allowPrivate = try object.bool("allow_private")
        for text in try object.strings("redirect_hosts") {
            guard let host = try? HostPort(text) else {
                throw .unknownValue(member: "redirect_hosts", text: text)
            }
            redirectHosts.append(host)
        }
        scope = try object.required("scope") { OriginScope(rawValue: $0) }
        proxy = try object.optional("proxy") { try? ProxySettings($0) }
        let files = try object.object("tls")
        for key in TLSKey.allCases {
            tls[key] = try files.optionalString(key.rawValue).map { PEMFile(path: $0, bytes: []) }
        }
        let fields = try object.object("headers")
        for name in fields.names { headers.append(name, try fields.string(name)) }
        fetch = try FetchSettings(object.object("fetch"))
        normalize = try object.optionalObject("normalize").map { rules throws(WireError) in
            try NormalizeRules(rules)
        }
        modifiers = try ModifierRules(object.object("modifiers"))
    }
}

extension FetchSettings {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("policy", policy.rawValue)
        json.member("network_wait", networkWait.unitText)
        json.member("timeout", timeout.unitText)
        json.member("connect_timeout", connectTimeout.unitText)
        json.member("ttl", ttl?.unitText)
        json.member("store_no_store", storesNoStore)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init()
        policy = try object.required("policy") { FetchPolicy(rawValue: $0) }
        networkWait = try object.required("network_wait") { try? Duration(unit: $0) }
        timeout = try object.required("timeout") { try? Duration(unit: $0) }
        connectTimeout = try object.required("connect_timeout") { try? Duration(unit: $0) }
        ttl = try object.optional("ttl") { try? Duration(unit: $0) }
        storesNoStore = try object.bool("store_no_store")
    }
}

extension ModifierRules {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("respond_async", respondsAsync)
        json.member("idempotency") { json in
            json.member("header", idempotency.header)
            json.member("honoured", idempotency.isHonoured)
        }
        json.member("answer", answer.rawValue)
        json.member("after_unknown", afterUnknown.rawValue)
        json.member("accepted_limit", acceptedLimit.unitText)
        json.member("stalled_after", stalledAfter)
        json.name("refused_if")
        json.beginArray()
        for rule in refusedIf {
            json.object { json in
                json.member("pointer", rule.pointer)
                if let equals = rule.equals { json.member("equals", equals) }
            }
        }
        json.endArray()
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init()
        respondsAsync = try object.bool("respond_async")
        let key = try object.object("idempotency")
        idempotency.header = try key.string("header")
        idempotency.isHonoured = try key.bool("honoured")
        answer = try object.required("answer") { AnswerRule(rawValue: $0) }
        afterUnknown = try object.required("after_unknown") { UnknownRule(rawValue: $0) }
        acceptedLimit = try object.required("accepted_limit") { try? Duration(unit: $0) }
        stalledAfter = try object.integer("stalled_after")
        refusedIf = try object.objects("refused_if").map { rule throws(WireError) in
            RefusalRule(
                pointer: try rule.string("pointer"),
                equals: try rule.optionalString("equals")
            )
        }
    }
}
