package import LarderModel
package import LarderNormalize
package import LarderStore
import LarderStrategy

/// The origins at one moment, and the mapping from URLs to them.
///
/// A value: the engine replaces the whole table when an origin is added or removed. A caller goes
/// on with the table that it has read.
package struct OriginTable: Sendable {
    package let known: [KnownOrigin]
    /// The user who may fetch public URLs without naming their origin; nil for a daemon that
    /// serves the whole system.
    package let owner: UInt32?
    private let byLength: [OriginSettings]
    /// The start of the URLs of each origin whose answers are shared.
    private let sharedAddresses: Set<String>
    private let byName: [OriginName: KnownOrigin]
    /// The rules of the origins whose answers are normalized.
    package let entityRules: [OriginName: EntityRules]

    package enum Decision: Equatable, Sendable {
        case known(OriginSettings)
        /// A public host that is not a configured origin.
        case implicit(OriginSettings)
        case unknown

        package var settings: OriginSettings? {
            switch self {
            case .known(let origin), .implicit(let origin): origin
            case .unknown: nil
            }
        }
    }

    package init(_ known: [KnownOrigin], owner: UInt32? = nil) {
        self.known = known.sorted { $0.name < $1.name }
        self.owner = owner
        byLength = known.map(\.settings)
            .sorted { $0.baseURL.path.utf8.count > $1.baseURL.path.utf8.count }
        let shared = known.filter { $0.settings.isShared }
        sharedAddresses = Set(shared.map(\.settings.baseURL.originText))
        byName = Dictionary(known.map { ($0.name, $0) }) { first, _ in first }
        entityRules = byName.compactMapValues { $0.settings.normalize.map(EntityRules.init) }
    }

    package var origins: [OriginSettings] { known.map(\.settings) }

    package subscript(name: OriginName) -> KnownOrigin? { byName[name] }

    /// The origin whose `base_url` is the longest prefix of `url` in whole path segments.
    ///
    /// A URL with dot segments may lead out of the path of a base URL, and would carry the origin's
    /// own headers there. So only a base URL without a path has such URLs.
    package func origin(of url: WebURL) -> OriginSettings? {
        let hasDots = url.hasDotSegments
        return byLength.first { origin in
            origin.baseURL.isPrefix(of: url) && !(hasDots && origin.baseURL.path != "/")
        }
    }

    /// The decision on `url` for a client with this uid; nil for a client without one.
    package func decide(_ url: WebURL, for uid: UInt32?) -> Decision {
        if let origin = origin(of: url) { return .known(origin) }
        guard let owner, owner == uid, let origin = implicitOrigin(of: url) else { return .unknown }
        return .implicit(origin)
    }

    /// The origin with this name, as a client with this uid sees it: a public host's name is an
    /// origin's to the daemon's owner.
    package func origin(named name: OriginName, for uid: UInt32?) -> Decision {
        if let known = byName[name] { return .known(known.settings) }
        guard let owner, owner == uid, let url = ImplicitOrigin.baseURL(named: name),
            let origin = implicitOrigin(of: url), origin.name == name
        else { return .unknown }
        return .implicit(origin)
    }

    /// The origin whose base URL is a prefix of an id; nil for an id that is not a URL.
    package func origin(of id: EntryID, for uid: UInt32?) -> OriginSettings? {
        guard id.text.hasScheme, let url = try? WebURL(id.text) else { return nil }
        return decide(url, for: uid).settings
    }

    /// The URL of an entity's own; nil where its type has none, or another origin has it.
    package func ownURL(of name: EntityName) -> WebURL? {
        guard let base = byName[name.origin]?.settings.baseURL.text,
            let path = entityRules[name.origin]?.path(of: name.key),
            let url = try? WebURL((base.hasSuffix("/") ? String(base.dropLast()) : base) + path),
            origin(of: url)?.name == name.origin
        else { return nil }
        return url
    }

    /// The rules of a target's origin for it as a document; nil if there are none.
    ///
    /// A variant is its URL's document.
    package func document(_ id: EntryID, for uid: UInt32?) -> DocumentRules? {
        if let name = id.entity { return entityRules[name.origin].map { .init(ofEntity: $0) } }
        let text = String(Substring(id.text.utf8.prefix { $0 != UInt8(ascii: " ") }))
        guard text.hasScheme, let url = try? WebURL(text),
            let origin = decide(url, for: uid).settings, let path = origin.path(of: url)
        else { return nil }
        let (rules, form) = (entityRules[origin.name], origin.modifiers.form(forPath: path))
        guard rules != nil || form != nil else { return nil }
        return DocumentRules(rules, path: path, form: form)
    }

    package var names: OriginNames {
        OriginNames(
            rules: entityRules,
            ownID: { name in ownURL(of: name).flatMap { try? EntryID($0) } },
            origin: { id, scope in origin(of: id, for: scope.uid)?.name },
            document: { id, scope in document(id, for: scope.uid) },
            split: { id, name, bytes in
                guard let rules = entityRules[name], let url = try? WebURL(id.text),
                    let path = self[name]?.settings.path(of: url)
                else { return nil }
                let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
                guard case .split(let split) = splitter.split(bytes, path: path, query: url.query)
                else { return nil }
                return split
            }
        )
    }

    package var hasSharedOrigins: Bool { !sharedAddresses.isEmpty }

    /// The origin whose answers are shared and one of which, or an entity in one, has this id.
    ///
    /// An answer that varies has its URL before a space; no URL has one.
    package func sharingOrigin(of id: EntryID) -> OriginSettings? {
        if let entity = id.entity { return byName[entity.origin]?.settings.ifShared }
        guard sharedAddresses.contains(where: { id.text.utf8.starts(with: $0.utf8) }) else {
            return nil
        }
        let text = String(Substring(id.text.utf8.prefix { $0 != UInt8(ascii: " ") }))
        guard let url = try? WebURL(text), url.text == text else { return nil }
        return origin(of: url)?.ifShared
    }

    package func with(_ origin: KnownOrigin) -> OriginTable {
        OriginTable(known.filter { $0.name != origin.name } + [origin], owner: owner)
    }

    package func without(_ name: OriginName) -> OriginTable {
        OriginTable(known.filter { $0.name != name }, owner: owner)
    }

    private func implicitOrigin(of url: WebURL) -> OriginSettings? {
        ImplicitOrigin.origin(for: url) { byName[$0] != nil }
    }
}

extension OriginSettings {
    fileprivate var ifShared: OriginSettings? { isShared ? self : nil }
}
