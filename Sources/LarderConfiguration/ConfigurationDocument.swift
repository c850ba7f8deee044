import LarderJSON
import Yams

/// A file's text as a tree of YAML nodes that know where they stand.
///
/// Yams refuses a mapping that has a key twice, and says no more than that. Here such a key is
/// disguised and the text read again, so that the rest of the file is looked at as well and the
/// second use is found where it stands.
struct ConfigurationDocument {
    let file: String
    /// Nil for a file that says nothing.
    let root: Node?
    private let disguised: [Position: String]

    private struct Position: Hashable {
        let line: Int
        let column: Int

        init(_ mark: Mark) {
            (line, column) = (mark.line, mark.column)
        }
    }

    init(text: String, file: String) throws(ConfigurationFinding) {
        self.file = file
        var scalars = Array(text.unicodeScalars)
        var disguised: [Position: String] = [:]
        while true {
            let problem: YamlError
            do throws(YamlError) {
                root = try Self.compose(scalars)
                self.disguised = disguised
                return
            } catch {
                problem = error
            }
            guard case .duplicatedKeysInMapping(let names, let context) = problem,
                let name = names.first, disguised.count < Self.disguises.count,
                disguised.updateValue(name, forKey: Position(context.mark)) == nil,
                let index = Self.index(of: context.mark, in: scalars),
                !["[", "{"].contains(scalars[index]),
                let disguise = Unicode.Scalar(
                    Self.disguises.lowerBound + UInt32(disguised.count - 1)
                )
            else { throw Self.finding(problem, file: file, text: text) }
            scalars[index] = disguise
        }
    }

    /// The private use area of Unicode: one sign for each key in disguise.
    private static let disguises = UInt32(0xE000)..<0xE400

    /// A text that is JSON, whose values all stand at the beginning of `file`.
    init(json: JSONValue, file: String) {
        self.file = file
        root = Node(json)
        disguised = [:]
    }

    private static func compose(_ scalars: [Unicode.Scalar]) throws(YamlError) -> Node? {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        do {
            return try Yams.compose(yaml: String(text), .default, .default, .utf8)
        } catch let error as YamlError {
            throw error
        } catch {
            throw .representer(problem: "\(error)")
        }
    }
}

extension ConfigurationDocument {
    /// Where `node` begins.
    func place(of node: Node) -> ConfigurationPlace {
        Self.place(node.mark, file: file)
    }

    /// The text of a key as it stands in the file; nil for a key that is a list or a mapping.
    func name(ofKey key: Node) -> String? {
        guard let scalar = key.scalar else { return nil }
        return scalar.mark.flatMap { disguised[Position($0)] } ?? scalar.string
    }

    private static func place(_ mark: Mark?, file: String) -> ConfigurationPlace {
        .file(file, line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    private static func index(of mark: Mark, in scalars: [Unicode.Scalar]) -> Int? {
        var start = scalars.startIndex
        for _ in 1..<max(1, mark.line) {
            guard let end = scalars[start...].firstIndex(of: "\n") else { return nil }
            start = end + 1
        }
        let index = start + mark.column - 1
        return scalars.indices.contains(index) ? index : nil
    }

    private static func finding(
        _ problem: YamlError,
        file: String,
        text: String
    ) -> ConfigurationFinding {
        switch problem {
        case .scanner(_, let message, let mark, _), .parser(_, let message, let mark, _),
            .composer(_, let message, let mark, _):
            return .init(place(mark, file: file), "this is not YAML: \(message)")
        case .reader(let message, let offset, _, _):
            let before = text.prefix(offset ?? 0)
            let line = before.count(where: \.isNewline) + 1
            let column = before.reversed().prefix(while: { !$0.isNewline }).count + 1
            return .init(
                .file(file, line: line, column: column),
                "this is not YAML: \(message)"
            )
        case .duplicatedKeysInMapping(let names, let context):
            let list = names.map { "'\($0)'" }.joined(separator: ", ")
            return .init(place(context.mark, file: file), "\(list) stands here more than once")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            return .init(place(nil, file: file), "this cannot be read as YAML: \(problem)")
        }
    }
}

extension Node {
    /// A value of JSON as YAML would have it, but of any size and with any characters.
    fileprivate init(_ json: JSONValue) {
        switch json {
        case .null: self = .scalar(Scalar("null", .implicit, .plain))
        case .bool(let bool): self = .scalar(Scalar("\(bool)", .implicit, .plain))
        case .number(let number): self = .scalar(Scalar(number.text, .implicit, .plain))
        case .string(let text): self = .scalar(Node.quoted(text))
        case .array(let elements): self = .sequence(Sequence(elements.map(Node.init)))
        case .object(let members):
            self = .mapping(
                Mapping(members.map { (.scalar(Node.quoted($0.name)), Node($0.value)) })
            )
        }
    }

    private static func quoted(_ text: String) -> Scalar {
        Scalar(text, .implicit, .doubleQuoted)
    }
}
