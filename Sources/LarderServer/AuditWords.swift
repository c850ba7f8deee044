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

extension EntryListCommand {
    var use: String { AuditWords.use("list", ["prefix": prefix, "origin": origin?.text]) }
}

extension EntityListCommand {
    var use: String { AuditWords.use("list entities", ["type": type, "origin": origin?.text]) }
}

extension ModifierListCommand {
    var use: String {
        AuditWords.use("list modifiers", ["state": selection?.text, "lane": lane?.text])
    }
}

extension EvictCommand {
    var use: String {
        let dryRun = isDryRun ? "true" : nil
        return switch selection {
        case .ids(let ids):
            AuditWords.use("evict", ["ids": AuditWords.named(ids.map(\.text)), "dry_run": dryRun])
        case .keys(let keys, let origin):
            AuditWords.use(
                "evict",
                [
                    "keys": AuditWords.named(keys.map(\.text)), "origin": origin?.text,
                    "dry_run": dryRun,
                ]
            )
        case .prefix(let prefix): AuditWords.use("evict", ["prefix": prefix, "dry_run": dryRun])
        case .origin(let name): AuditWords.use("evict", ["origin": name.text, "dry_run": dryRun])
        case .olderThan(let age):
            AuditWords.use("evict", ["older_than": age.unitText, "dry_run": dryRun])
        case .toBytes(let size):
            AuditWords.use("evict", ["to_bytes": String(size.bytes), "dry_run": dryRun])
        case .all: AuditWords.use("evict", ["all": "true", "dry_run": dryRun])
        }
    }
}
