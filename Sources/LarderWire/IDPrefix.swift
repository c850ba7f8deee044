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
