import LarderJSON
package import LarderModel
import LarderNormalize
package import LarderStore
package import LarderWire

extension Entities {
    package func explain(
        _ name: EntityName,
        _ scope: ScopeKey,
        interest: Interest = Interest()
    ) async throws(Problem) -> EntityExplanation? {
        let now = clock.now()
        let id = EntryID(name)
        let places = context.sight(scope, id).scopes
        let found = try await context.read {
            [context] reader throws(StoreError) -> (ScopeKey, EntityExplanation)? in
            let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
            for place in places where !reader.isHidden(id, in: place, from: scope) {
                let explained = try EntityExplanation(name, in: place, look, interest)
                if let explained { return (place, explained) }
            }
            return nil
        }
        guard let (place, found) = found else { return nil }
        var explanation = found
        if place.scope == .shared { explanation.item.scope = .shared }
        let holders = context.followers.holders(of: id, in: place)
        if holders > 0 { explanation.protectedBy.append("followed") }
        return explanation
    }
}

extension Entries {
    /// How an entry is kept: what is shown is split once more for what is said of it.
    func form(of entry: Entry, in place: ScopeKey) async throws(Problem) -> FormExplanation {
        guard let origin = entry.origin, let rules = context.origins.entityRules[origin],
            let settings = context.origins[origin]?.settings
        else { return FormExplanation(.whole(reason: nil)) }
        let now = clock.now()
        let id = entry.id
        let path = (try? WebURL(id.text)).flatMap { settings.path(of: $0) } ?? "/"
        return try await context.read { reader throws(StoreError) in
            try reader.atOneMoment { () throws(StoreError) in
                let row = try reader.withEntry(place, id, now: now, isUse: false) { row in
                    (row.normalized(in: place), row.chunkedBody, row.withBody { Array($0) })
                }
                guard let (normalized, chunked, bytes) = row else {
                    return FormExplanation(.whole(reason: nil))
                }
                if let normalized {
                    return try FormExplanation(normalized, rules, path, reader, now)
                }
                guard chunked == nil else {
                    return FormExplanation(.whole(reason: "it is too large to look into here"))
                }
                return FormExplanation(whole: bytes, rules, path)
            }
        }
    }
}

extension FormExplanation {
    fileprivate init(whole bytes: [UInt8], _ rules: EntityRules, _ path: String) {
        let report: SplitReport
        switch Splitter(rules).split(bytes, path: path) {
        case .whole(let reason, let found):
            self.init(.whole(reason: reason.message))
            report = found
        case .split(let split):
            self.init(.whole(reason: "it was stored so, or its id is kept for good"))
            report = split.report
        }
        take(report)
    }

    fileprivate init(
        _ row: NormalizedRow,
        _ rules: EntityRules,
        _ path: String,
        _ reader: StoreReader,
        _ now: Timestamp
    ) throws(StoreError) {
        let skeleton = "\(row.skeleton)"
        guard
            case .shown(let shown) = try reader.answers.rebuild(
                row,
                for: .view(of: row.scope),
                now: now,
                isPartial: true
            ),
            case .split(let split) = Splitter(rules).split(shown.answer.bytes, path: path)
        else {
            self.init(.normalized(skeleton: skeleton, entities: ReferenceList(count: 0, items: [])))
            return
        }
        let entities = try reader.answers.shownEntities(of: row)
        let list = ReferenceList(entities) { entity in
            row.entry.origin.map { origin in
                ReferenceList.Item(
                    id: EntryID(EntityName(entity.key, of: origin)),
                    members: entity.members
                )
            }
        }
        self.init(.normalized(skeleton: skeleton, entities: list))
        take(split.report)
    }

    private mutating func take(_ report: SplitReport) {
        keylessCount = report.keylessCount
        keylessSample = report.keylessSample?.text
        repeatedCount = report.repeatedCount
    }
}

extension EntityExplanation {
    /// Nil where nothing is known of it in this scope.
    fileprivate init?(
        _ name: EntityName,
        in place: ScopeKey,
        _ look: EntryReader,
        _ interest: Interest
    ) throws(StoreError) {
        let (id, reader) = (EntryID(name), look.reader)
        guard !interest.isGivenUp, let row = try reader.lists.row(place, id),
            let listed = try look.listed(row, inAnyScope: true), let item = EntityListItem(listed)
        else { return nil }
        var baseLook = look
        baseLook.form = .base
        let viewer = baseLook.viewer
        let held = try reader.answers.entity(place, id, for: viewer, now: look.now, isUse: false)?
            .held
        let base: EntryView<ViewReport>? = try baseLook.view(of: name, expanding: 0)
        let view = ViewReport(base)
        var references: [Reference] = []
        var stamp: EntityStamp?
        switch held ?? .unknown {
        case .unknown: break
        case .deleted(let told): stamp = told
        case .present(let body, let told): (references, stamp) = (body.references, told)
        }
        let target = try reader.targets.target(look.scope, id)
        let pending = try target.map { target throws(StoreError) in
            try PendingExplanation(of: target, on: target.base, id, reader, interest)
        }
        let referrers = try reader.answers.referrers(place, name)
        self.init(
            item: item,
            protectedBy: [],
            pending: pending ?? PendingExplanation(count: 0, base: view, view: view),
            referencedBy: ReferenceList(referrers) { referrer in
                ReferenceList.Item(
                    id: referrer.id,
                    members: referrer.place.memberNames(referrer.skeleton)
                )
            },
            refersTo: ReferenceList(references) { reference in
                ReferenceList.Item(
                    id: EntryID(EntityName(reference.key, of: name.origin)),
                    members: reference.place.memberNames(nil)
                )
            }
        )
        version = stamp?.version?.value
        fetch = stamp?.fetch
    }
}

extension ReferenceList {
    fileprivate init<Element>(_ all: [Element], item: (Element) -> Item?) {
        let items = all.prefix(Limits.toldReferencesMax).compactMap(item)
        self.init(count: all.count, items: items)
    }
}
