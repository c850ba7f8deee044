import LarderJSON
package import LarderModel

/// What refers to something, or what it refers to.
package struct ReferenceList: Equatable, Sendable {
    /// One end of some references.
    package struct Item: Equatable, Sendable {
        /// An entry's or an entity's.
        package var id: EntryID
        /// Between an entry and an entity the members of the entity that the entry shows; between
        /// two entities the members of the one in whose values the other stands.
        package var members: [String]

        package init(id: EntryID, members: [String]) {
            self.id = id
            self.members = members
        }
    }

    /// How many there are.
    package var count: Int
    /// The first ``Limits/toldReferencesMax`` of them.
    package var items: [Item]

    package init(count: Int, items: [Item]) {
        self.count = count
        self.items = items
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("count", count)
            json.name("items")
            json.beginArray()
            for item in items {
                json.object { json in
                    json.members(naming: item.id)
                    json.member("members", item.members)
                }
            }
            json.endArray()
        }
    }

    init(_ object: WireObject) throws(WireError) {
        count = try object.integer("count")
        items = []
        for item in try object.objects("items") {
            items.append(Item(id: try item.idOrKey(), members: try item.strings("members")))
        }
    }
}
