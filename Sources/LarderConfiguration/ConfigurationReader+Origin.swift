import LarderJSON
import LarderModel

extension ConfigurationReader {
    /// Reads everything under the origin's name, also where the name itself is wrong.
    mutating func origin(
        _ part: Item,
        named name: OriginName?
    ) -> (OriginSettings, place: ConfigurationPlace)? {
        let count = findings.count
        var origin = OriginSettings.nameless
        var (hasAddress, addressPlace) = (false, ConfigurationPlace?.none)
        var headersPlace = part.place
        read(
            part,
            into: &origin,
            [
                "base_url": { reader, origin, item in
                    hasAddress = true
                    guard let url = reader.value(item, Setting.baseURL) else { return }
                    (origin.baseURL, addressPlace) = (url, reader.place(of: item.value))
                },
                "allow_private": Self.member(\.allowPrivate, Setting.truth),
                "redirect_hosts": { $1.redirectHosts = $0.redirectHosts($2) },
                "shared": Self.member(\.isShared, Setting.truth),
                "proxy": { $1.proxy = $0.proxy($2) },
                "tls": { $1.tls = $0.tls($2) },
                "headers": { reader, origin, item in
                    headersPlace = item.place
                    origin.headers = reader.headers(item)
                },
                "credential": { $1.credential = $0.credential($2) },
                "fetch": { $0.read($2, into: &$1.fetch) },
                "normalize": { $1.normalize = $0.normalizeRules($2) },
                "modifiers": { $0.read($2, into: &$1.modifiers) },
            ]
        )
        // This header would replace each modifier's own key.
        let header = origin.modifiers.idempotency.header
        if origin.headers[header] != nil {
            report(
                headersPlace,
                "\(part.path).headers has '\(header)', which carries the key of each modifier"
            )
        }
        if origin.credential?.header.isEqual(to: header) == true {
            report(
                part.place,
                "\(part.path).credential has '\(header)', which carries the key of each modifier"
            )
        }
        if !hasAddress, findings.count == count {
            report(part.place, "\(part.path) needs a base_url")
        }
        guard let name, let addressPlace else { return nil }
        origin.name = name
        return (origin, addressPlace)
    }

    private mutating func keptHeaders(_ part: Item) -> [String] {
        values(part, Limits.keptHeadersMax, Setting.keptHeaderName)
    }

    private mutating func postReads(_ part: Item) -> [String] {
        values(part, Limits.postReadsMax, Setting.readPath)
    }

    private mutating func varyNames(_ part: Item) -> [String] {
        let names = values(part, Limits.varyNamesMax, Setting.headerName)
        return Set(names.map { $0.lowercased() }).sorted()
    }

    private mutating func redirectHosts(_ part: Item) -> [HostPort] {
        values(part, Limits.redirectHostsMax, Setting.hostPort).unique
    }

    private mutating func proxy(_ part: Item) -> ProxySettings? {
        guard let setting = secret(part), !setting.isNull else { return nil }
        return collect(setting.proxy)
    }

    private mutating func tls(_ part: Item) -> TLSSettings {
        let count = findings.count
        var tls = TLSSettings()
        var places: [TLSKey: ConfigurationPlace] = [:]
        for item in items(of: part) {
            guard let key = TLSKey(rawValue: item.name) else {
                reportUnknown(item, among: TLSKey.allCases.map(\.rawValue))
                continue
            }
            guard let setting = settingOrNull(item), !setting.isNull else { continue }
            places[key] = setting.place
            tls[key] = collect(setting.pemFile)
        }
        for (key, other) in [
            (TLSKey.clientCertificate, TLSKey.clientKey), (.clientKey, .clientCertificate),
        ] {
            guard let place = places[key], places[other] == nil else { continue }
            report(place, "\(part.path).\(key.rawValue) needs \(other.rawValue) too")
        }
        if findings.count == count, let fault = checkTLS(tls) {
            report(
                places[fault.key] ?? part.place,
                "\(part.path).\(fault.key.rawValue): the file \(fault.reason)"
            )
        }
        return tls
    }

    private mutating func headers(_ part: Item) -> HeaderFields {
        var headers = HeaderFields()
        for item in items(of: part) {
            let name = collect(Setting(text: item.name, place: item.place).headerName)
            guard let value = secret(item) else { continue }
            guard !value.isNull else {
                report(value.place, "\(item.path) has no value")
                continue
            }
            let text = collect(value.headerValue)
            guard let name, let text else { continue }
            if headers[name] == nil {
                headers.append(name, text)
            } else {
                report(item.place, "duplicate header '\(name)'; case makes no difference")
            }
        }
        return headers
    }

    /// A value that may be a secret: itself, or `{file: PATH}`, whose line it is.
    private mutating func secret(_ part: Item) -> Setting? {
        guard case .mapping = part.value.kind else { return settingOrNull(part) }
        guard !file.isEmpty else {
            report(
                part.place,
                "\(part.path): files of values are for the configuration, give the value"
            )
            return nil
        }
        var secret: Setting?
        let count = findings.count
        for item in items(of: part) {
            guard item.name == "file" else {
                reportUnknown(item, among: ["file"])
                return nil
            }
            secret = value(item, Setting.secretFile)
            configuration.valueFiles[part.path] = item.value.text
        }
        if secret == nil, findings.count == count {
            report(place(of: part.value), "\(part.path) needs a file: {file: PATH}")
        }
        return secret
    }

    private mutating func credential(_ part: Item) -> OriginCredential? {
        guard !isNull(part) else { return nil }
        guard !file.isEmpty else {
            report(part.place, "\(part.path) is for the files of the configuration")
            return nil
        }
        let count = findings.count
        var credential = OriginCredential()
        var value: Setting?
        read(
            part,
            into: &credential,
            [
                "header": Self.member(\.header, Setting.credentialHeader),
                "file": { reader, credential, item in
                    guard let setting = reader.setting(item) else { return }
                    credential.file = setting.text
                    reader.configuration.valueFiles[part.path] = setting.text
                    value = reader.collect(setting.secretFile)
                },
                "users": { $1.users = $0.users($2) },
            ]
        )
        if findings.count == count, credential.file.isEmpty || credential.users.isEmpty {
            report(part.place, "\(part.path) needs a file and users: {file: PATH, users: [NAME]}")
        }
        guard let value, findings.count == count else { return nil }
        let header = credential.header
        let text = collect { () throws(ConfigurationFinding) in
            try value.credential(in: header)
        }
        guard let text else { return nil }
        credential.value = text
        return credential
    }

    /// Users by name or number; one that does not exist is a warning.
    private mutating func users(_ part: Item) -> [OriginCredential.User] {
        values(part, Limits.credentialUsersMax, Setting.string).map { name in
            let uid = AccountLookup.userNumber(name)
            if uid == nil {
                configuration.warnings.append("\(part.path): there is no user '\(name)'")
            }
            return OriginCredential.User(name: name, uid: uid)
        }
    }

    private mutating func read(_ part: Item, into fetch: inout FetchSettings) {
        let time = Setting.duration(in: .milliseconds(1)...Limits.requestTimeMax)
        let wait = Setting.duration(in: .zero...Limits.requestTimeMax)
        let lifetime = Setting.duration(in: .zero...Limits.lifetimeMax)
        read(
            part,
            into: &fetch,
            [
                "policy": Self.member(\.policy, Setting.choice),
                "network_wait": Self.member(\.networkWait, wait),
                "timeout": Self.member(\.timeout, time),
                "connect_timeout": Self.member(\.connectTimeout, time),
                "ttl": { reader, fetch, item in
                    guard !reader.isNull(item) else { return }
                    fetch.ttl = reader.value(item, lifetime)
                },
                "store_no_store": Self.member(\.storesNoStore, Setting.truth),
                "post_reads": { $1.postReads = $0.postReads($2) },
                "vary": { $1.vary = $0.varyNames($2) },
                "refused_if": { $1.refusedIf = $0.refusalRules($2) },
                "min_refresh": Self.member(
                    \.minRefresh,
                    Setting.duration(in: Limits.minRefreshTimes)
                ),
                "compression": Self.member(\.compresses, Setting.truth),
            ]
        )
    }

    private mutating func read(_ part: Item, into rules: inout ModifierRules) {
        let attempts = Setting.wholeNumber(in: Limits.stalledAnswers)
        read(
            part,
            into: &rules,
            [
                "respond_async": Self.member(\.respondsAsync, Setting.truth),
                "idempotency": { $0.read($2, into: &$1.idempotency) },
                "answer": Self.member(\.answer, Setting.choice),
                "expect": { reader, rules, item in
                    guard !reader.isNull(item) else { return }
                    rules.expect = reader.value(item, Setting.choice)
                },
                "after_unknown": Self.member(\.afterUnknown, Setting.choice),
                "if_match": Self.member(\.ifMatch, Setting.choice),
                "on_conflict": Self.member(\.onConflict, Setting.choice),
                "coalesce": Self.member(\.coalesce, Setting.choice),
                "accepted_limit": Self.member(
                    \.acceptedLimit,
                    Setting.duration(in: Limits.acceptedTime)
                ),
                "stalled_after": Self.member(\.stalledAfter, attempts),
                "refused_if": { $1.refusedIf = $0.refusalRules($2) },
                "keep_headers": { $1.keptHeaders = $0.keptHeaders($2) },
                "empty": { $1.empty = $0.emptyForms($2) },
                "created_id": Self.member(\.createdID, mayBeNull: true, Setting.pointer),
            ]
        )
    }

    private mutating func read(_ part: Item, into rule: inout IdempotencyRule) {
        read(
            part,
            into: &rule,
            [
                "header": Self.member(\.header, Setting.idempotencyHeaderName),
                "honoured": Self.member(\.isHonoured, Setting.truth),
            ]
        )
    }

    /// Reads one rule, or a list of them.
    private mutating func refusalRules(_ part: Item) -> [RefusalRule] {
        var nodes = [part.value]
        if case .sequence(let sequence) = part.value.kind { nodes = sequence }
        guard nodes.count <= Limits.refusalRulesMax else {
            report(part.place, "at most \(Limits.refusalRulesMax) rules are taken")
            return []
        }
        return nodes.compactMap { node in
            refusalRule(Item(name: part.name, path: part.path, place: part.place, value: node))
        }
    }

    private mutating func refusalRule(_ part: Item) -> RefusalRule? {
        var rule = RefusalRule(pointer: "")
        var (isGiven, isRead) = (false, false)
        read(
            part,
            into: &rule,
            [
                "pointer": { reader, rule, item in
                    guard let setting = reader.setting(item) else { return }
                    isGiven = true
                    do throws(JSONPointerError) {
                        rule.pointer = try JSONPointer(setting.text).text
                        isRead = true
                    } catch {
                        reader.report(setting.place, "\(item.path): \(error.message)")
                    }
                },
                "equals": { reader, rule, item in
                    // A missing value is reported.
                    let isNull = reader.isNull(item) && item.value.text?.isEmpty == false
                    rule.equals = isNull ? "null" : reader.value(item, Setting.string)
                },
            ]
        )
        if !isGiven {
            report(place(of: part.value), "\(part.path) needs a pointer, such as /errors")
        }
        return isRead ? rule : nil
    }
}

extension OriginSettings {
    /// Stands for an origin while its name and its base URL are read.
    fileprivate static var nameless: OriginSettings {
        guard let name = try? OriginName("x"), let url = try? WebURL("https://x") else {
            preconditionFailure("a name and a URL are refused")
        }
        return OriginSettings(name: name, baseURL: url)
    }
}
