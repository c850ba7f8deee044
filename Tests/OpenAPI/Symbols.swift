import LarderAPI
import LarderJSON

/// Doc comments and attributes of the public declarations of LarderAPI, from its symbol graph.
struct Symbols {
    struct Property {
        let name: String
        let text: Text
        let isOmittedWhenNil: Bool
        /// Name of the type whose members take the place of the property.
        let flattenedType: String?
        fileprivate let line: Int64
    }

    /// A doc comment: its sentences, and what lines such as `- Range: 1...1000` say.
    struct Text {
        var sentences = ""
        var facts: [String: String] = [:]
    }

    private(set) var types: [String: Text] = [:]
    private(set) var values: [String: [Property]] = [:]
    private var properties: [String: [Property]] = [:]

    init(parsing graph: [UInt8]) throws {
        for symbol in try JSONValue(parsing: graph)["symbols"]?.elements ?? [] {
            let path = symbol["pathComponents"]?.elements?.compactMap(\.string) ?? []
            let text = Text(symbol["docComment"])
            switch (symbol["kind"]?["identifier"]?.string, path.count) {
            case ("swift.struct", 1), ("swift.enum", 1):
                types[path[0]] = text
            case ("swift.property", 2):
                guard let property = Property(symbol, path[1], text) else { continue }
                properties[path[0], default: []].append(property)
            case ("swift.type.property", 2):
                guard let property = Property(symbol, path[1], text) else { continue }
                values[path[0], default: []].append(property)
            default: continue
            }
        }
        properties = properties.mapValues { $0.sorted { $0.line < $1.line } }
    }

    /// The stored properties of a type, with those of flattened ones in their place.
    func properties(of type: String) -> [Property] {
        (properties[type] ?? []).flatMap { property in
            property.flattenedType.map(properties(of:)) ?? [property]
        }
    }
}

extension Symbols.Property {
    /// Nil for a computed property.
    fileprivate init?(_ symbol: JSONValue, _ name: String, _ text: Symbols.Text) {
        let fragments = symbol["declarationFragments"]?.elements ?? []
        let words = fragments.compactMap { $0["spelling"]?.string }
        let isComputed = words.joined().hasSuffix("{ get }") && !words.contains("static")
        guard !isComputed else { return nil }
        let types = fragments.filter { $0["kind"]?.string == "typeIdentifier" }
        self.name = name
        self.text = text
        isOmittedWhenNil = words.contains("OmittedWhenNil")
        flattenedType = words.contains("Flattened") ? types.last?["spelling"]?.string : nil
        line = symbol["location"]?["position"]?["line"]?.integer ?? 0
    }
}

extension Symbols.Text {
    fileprivate init(_ comment: JSONValue?) {
        var words: [String] = []
        for line in comment?["lines"]?.elements?.compactMap({ $0["text"]?.string }) ?? [] {
            if line.hasPrefix("- "), let end = line.firstRange(of: ": ") {
                facts[String(line[..<end.lowerBound].dropFirst(2))] = String(
                    line[end.upperBound...]
                )
            } else if !line.hasPrefix("    "), !line.isEmpty {
                words.append(line)
            }
        }
        sentences = Self.withoutLinks(words.joined(separator: " "))
    }

    /// Links to symbols as names of members: ` ``restsUntil`` ` is `rests_until`.
    private static func withoutLinks(_ text: String) -> String {
        text.split(separator: "``", omittingEmptySubsequences: false).enumerated().map {
            index,
            part in
            guard index % 2 == 1 else { return String(part) }
            return "`\(snakeCase(String(part.prefix { $0 != "(" })))`"
        }.joined()
    }
}
