package import LarderJSON

/// What `explain` says of one entity.
package struct EntityExplanation: Equatable, Report {
    package var item: EntityListItem
    /// What the origin's rule for versions found in it: a number or a string; nil without one.
    package var version: JSONValue?
    /// The number that the last applied fetch took when it started; nil where none has.
    package var fetch: Int64?
    /// Why it cannot be evicted, one reason each; empty when it can.
    package var protectedBy: [String]
    /// Base, the view, and what unsettled modifiers make of the one, step by step; no step where
    /// there are none.
    package var pending: PendingExplanation
    /// The entries and entities that show it or refer to it.
    package var referencedBy: ReferenceList
    /// The entities that it refers to.
    package var refersTo: ReferenceList

    package init(
        item: EntityListItem,
        protectedBy: [String],
        pending: PendingExplanation,
        referencedBy: ReferenceList,
        refersTo: ReferenceList
    ) {
        self.item = item
        self.protectedBy = protectedBy
        self.pending = pending
        self.referencedBy = referencedBy
        self.refersTo = refersTo
    }

    package var byteCount: Int { pending.byteCount }

    /// The members of a list's item, and then its own.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            item.write(to: &json)
            json.name("version")
            json.value(version ?? .null)
            json.member("fetch", fetch)
            json.member("protected_by", protectedBy)
            pending.write(to: &json)
            json.name("referenced_by")
            referencedBy.write(to: &json)
            json.name("refers_to")
            refersTo.write(to: &json)
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        guard let pending = try PendingExplanation(object) else { throw .missingMember("base") }
        self.init(
            item: try EntityListItem(object),
            protectedBy: try object.strings("protected_by"),
            pending: pending,
            referencedBy: try ReferenceList(object.object("referenced_by")),
            refersTo: try ReferenceList(object.object("refers_to"))
        )
        version = try object.value("version")
        fetch = try object.optionalInteger("fetch")
    }
}
