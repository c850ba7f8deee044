import LarderJSON
package import LarderModel

extension OriginDefinition {
    /// The keys of an origin with every default; of a file of `tls` its path.
    ///
    /// Covered secrets are `***`: values of headers and the user of a proxy.
    package init(_ origin: OriginSettings, coversSecrets: Bool = false) {
        self.init(baseURL: origin.baseURL.text)
        allowPrivate = origin.allowPrivate
        redirectHosts = origin.redirectHosts.map(\.description)
        shared = origin.isShared
        proxy = coversSecrets ? origin.proxy?.maskedText : origin.proxy?.text
        var files = OriginTLS()
        files.caFile = origin.tls.caFile?.path
        files.clientCert = origin.tls.clientCertificate?.path
        files.clientKey = origin.tls.clientKey?.path
        tls = files
        headers = NamedValues(
            origin.headers.fields.map { .init($0.name, coversSecrets ? "***" : $0.value) }
        )
        credential = origin.credential.map {
            OriginCredentialFile(header: $0.header, file: $0.file, users: $0.users.map(\.name))
        }
        fetch = OriginFetch(origin.fetch)
        normalize = origin.normalize.map(OriginNormalize.init)
        modifiers = OriginModifiers(origin.modifiers)
    }
}

extension OriginFetch {
    fileprivate init(_ settings: FetchSettings) {
        policy = FetchPolicy(rawValue: settings.policy.rawValue)
        networkWait = settings.networkWait
        timeout = settings.timeout
        connectTimeout = settings.connectTimeout
        ttl = settings.ttl
        storeNoStore = settings.storesNoStore
    }
}

extension OriginModifiers {
    fileprivate init(_ rules: ModifierRules) {
        respondAsync = rules.respondsAsync
        var key = OriginIdempotency()
        key.header = rules.idempotency.header
        key.honoured = rules.idempotency.isHonoured
        idempotency = key
        answer = AnswerRule(rawValue: rules.answer.rawValue)
        expect = rules.expect.map { ExpectRule(rawValue: $0.rawValue) }
        afterUnknown = UnknownRule(rawValue: rules.afterUnknown.rawValue)
        ifMatch = MatchRule(rawValue: rules.ifMatch.rawValue)
        onConflict = ConflictRule(rawValue: rules.onConflict.rawValue)
        coalesce = CoalesceRule(rawValue: rules.coalesce.rawValue)
        acceptedLimit = rules.acceptedLimit
        stalledAfter = rules.stalledAfter
        refusedIf = rules.refusedIf.map { .init(pointer: $0.pointer, equals: $0.equals) }
        keepHeaders = rules.keptHeaders
        empty = NamedValues(
            rules.empty.map { .init($0.path, RawJSON(unchecked: Array($0.form.utf8))) }
        )
        createdId = rules.createdID
    }
}

extension OriginNormalize {
    package init(_ rules: NormalizeRules) {
        byType = rules.byType.map { .named(type: $0.type, id: $0.id) }
        types = rules.types.map(OriginTypeRule.init)
        paths = rules.paths.map(OriginPathRule.init)
    }
}

extension OriginTypeRule {
    fileprivate init(_ rule: TypeRule) {
        self.init(type: rule.type)
        key = rule.key?.fields.map(OriginKeyField.init)
        url = rule.url
        version = rule.version.map(\.pointer)
        let sorted = rule.lists.map { ($0.key.pointer, $0.value) }.sorted { $0.0 < $1.0 }
        lists = NamedValues(sorted.map { .init($0.0, OriginListRule($0.1)) })
        embed = rule.isEmbedded
        onDeleted = rule.onDeleted == .null ? nil : DeletionRule(rawValue: rule.onDeleted.rawValue)
    }
}

extension OriginListRule {
    fileprivate init(_ rule: ListRule) {
        self =
            switch rule {
            case .replace: .replace
            case .append: .append
            case .pages(let parameter): .pages(parameter: parameter)
            case .by(let member): .by(member: member)
            }
    }
}

extension OriginPathRule {
    fileprivate init(_ rule: PathRule) {
        self.init(url: rule.url, at: rule.at.pointer, type: rule.type)
        key = rule.key?.fields.map(OriginKeyField.init)
    }
}

extension OriginKeyField {
    fileprivate init(_ field: EntityKeyRule.Field) {
        self =
            switch field {
            case .member(let name): .member(name)
            case .within(let name, let fields): .within(name, fields.map(OriginKeyField.init))
            }
    }
}

extension MemberPath {
    /// The path as a JSON pointer (RFC 6901).
    package var pointer: String { JSONPointer(tokens: tokens).text }
}
