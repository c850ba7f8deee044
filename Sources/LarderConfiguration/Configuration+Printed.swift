import LarderAPI
import LarderJSON
import LarderModel

extension Configuration {
    /// The whole configuration as YAML that reads back to the same value, but for the values of
    /// origins' headers and the user of a proxy: they may be secrets and are printed as `***`.
    package func printed() -> String {
        var lines: [String] = []
        for section in ConfigurationSection.allCases where section != .origins {
            lines.append("\(section.rawValue):")
            for key in ConfigurationKey.keys(of: section) {
                let text = text(of: key)
                lines.append("  \(key.name): \(key.isTruth ? text : yamlText(text))")
            }
        }
        lines.append(origins.isEmpty ? "origins: {}" : "origins:")
        for origin in origins { lines += origin.printedLines }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension OriginSettings {
    fileprivate var printedLines: [String] {
        ["  \(yamlText(name.text)):"] + yamlLines(coversSecrets: true).map { "    " + $0 }
    }

    /// What stands under the origin's name, as YAML that reads back to the same value unless its
    /// secrets are covered.
    package func yamlLines(coversSecrets: Bool) -> [String] {
        let keys = APIEncoder().encode(OriginDefinition(self, coversSecrets: coversSecrets))
        // Our own encoder's.
        return (try? JSONValue(parsing: keys))?.yamlLines ?? []
    }
}
