import LarderAPI
import LarderModel
import LarderWire

/// Objects of an administrator's command, for the log.
enum AuditWords {
    /// `evict origin=api dry_run=true`; parameters without a value are left out.
    static func use(_ verb: String, _ parameters: KeyValuePairs<String, String?>) -> String {
        parameters.reduce(into: verb) { words, parameter in
            guard let value = parameter.value else { return }
            words += " \(parameter.key)=\(shortened(value))"
        }
    }

    /// A command has up to ``Limits/evictIDsMax`` objects; a line of the log names the first.
    static func named(_ objects: [String]) -> String {
        let names = objects.prefix(shownMax).map(shortened).joined(separator: ",")
        let more = objects.count - shownMax
        return more > 0 ? "\(names) and \(more) more" : names
    }

    private static let shownMax = 5
    /// Characters of one object, whose id has up to ``Limits/idBytesMax`` bytes.
    private static let charactersMax = 200

    private static func shortened(_ text: String) -> String {
        text.count > charactersMax ? "\(text.prefix(charactersMax))…" : text
    }
}

extension EntryListQuery {
    var use: String { AuditWords.use("list", ["prefix": prefix, "origin": origin]) }
}

extension ModifierListCommand {
    var use: String {
        AuditWords.use("list modifiers", ["state": selection?.text, "lane": lane?.description])
    }
}

extension EvictCommand {
    var use: String {
        AuditWords.use(
            "evict",
            [
                "ids": ids.map(AuditWords.named), "prefix": prefix, "origin": origin,
                "older_than": olderThan?.unitText,
                "to_bytes": toBytes?.text, "all": all.map { "\($0)" },
                "dry_run": dryRun == true ? "true" : nil,
            ]
        )
    }
}
