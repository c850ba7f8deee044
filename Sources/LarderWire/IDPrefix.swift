package import LarderModel

/// The beginning of ids, as lists and evictions take it.
enum IDPrefix {
    /// `text` if ids can begin with it: what an id may be, too.
    static func checked(_ text: String) throws(Problem) -> String {
        do throws(ModelError) {
            return try EntryID(text).text
        } catch {
            throw Problem(.badRequest, "prefix: \(error.message)")
        }
    }
}

extension EntityKey {
    /// The key in a command, refused by a problem.
    package init(command text: String) throws(Problem) {
        do throws(ModelError) {
            try self.init(text)
        } catch {
            throw Problem(
                .badID,
                error.message,
                hint: "Give Type:id, with / : and % in either part as %2F, %3A and %25."
            )
        }
    }
}

extension QueryParameters {
    /// `origin=`, which says whose a key is.
    package mutating func takeOrigin() throws(Problem) -> OriginName? {
        try take("origin").map { text throws(Problem) in try OriginName(command: text) }
    }
}

extension CommandMembers {
    /// The member `origin`.
    mutating func takeOrigin() throws(Problem) -> OriginName? {
        try takeString("origin").map { text throws(Problem) in try OriginName(command: text) }
    }
}

extension OriginName {
    /// The name in a command, refused by a problem.
    package init(command text: String) throws(Problem) {
        do throws(ModelError) {
            try self.init(text)
        } catch {
            throw Problem(.badRequest, "origin: \(error.message)")
        }
    }
}
