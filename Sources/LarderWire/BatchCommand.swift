import LarderJSON
package import LarderModel

/// What `POST /v1/entries/batch` asks for.
package struct BatchCommand: Equatable, Sendable {
    /// 1 to ``Limits/batchIDsMax``, none of them twice; they are answered in this order.
    package var ids: [EntryID]
    package var account = AccountName.default

    package init(ids: [EntryID]) {
        self.ids = ids
    }

    /// Reads the body of a POST, and refuses every unknown member.
    package init(json: [UInt8]) throws(Problem) {
        var members = try CommandMembers(json, of: ["ids", "account"])
        let elements = try members.take("ids", "an array of strings", { $0.elements })
        account = try members.takeAccount()
        guard let elements else { throw Problem(.badRequest, "ids is missing") }
        ids = try Self.ids(elements)
    }

    /// The body that ``init(json:)`` reads back.
    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("ids", ids.map(\.text))
            if account != .default { json.member("account", account.text) }
        }
        return json.bytes
    }

    private static func ids(_ elements: [JSONValue]) throws(Problem) -> [EntryID] {
        guard (1...Limits.batchIDsMax).contains(elements.count) else {
            throw Problem(
                .badRequest,
                "ids: \(elements.count) are given, 1 to \(Limits.batchIDsMax) are taken",
                hint: "Ask for the rest in another batch."
            )
        }
        var ids: [EntryID] = []
        var seen: Set<EntryID> = []
        for element in elements {
            guard let text = element.string else {
                throw Problem(.badRequest, "ids: it holds \(element.kindText), strings are needed")
            }
            let id: EntryID
            do throws(ModelError) {
                id = try EntryID(given: text)
            } catch {
                throw Problem(.badID, "ids: \(error.message)")
            }
            guard seen.insert(id).inserted else {
                throw Problem(.badRequest, "ids: '\(id)' is given twice")
            }
            ids.append(id)
        }
        return ids
    }
}
