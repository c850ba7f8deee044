import LarderJSON

/// What the origin keeps: documents by their paths.
struct Documents {
    private struct Document {
        var content: Content
        var type: String
        /// The number of the effect that made it so.
        var number: Int

        var etag: String { "\"v\(number)\"" }
    }

    /// What became of a write.
    enum Outcome: Equatable {
        case applied(Reply)
        case refused(Reply)
    }

    private var documents: [String: Document] = [:]

    func read(_ path: String, ifNoneMatch: String?) -> Reply {
        guard let document = documents[path] else { return .refusal(404, "nothing here") }
        guard ifNoneMatch != document.etag else {
            return Reply(status: 304).with("ETag", document.etag)
        }
        return .content(document.content, type: document.type).with("ETag", document.etag)
    }

    /// Whether a document has the version that a write is for; without one, every version is right.
    func matches(_ path: String, _ ifMatch: String?) -> Bool {
        guard let ifMatch else { return true }
        return documents[path].map { ifMatch == "*" || ifMatch == $0.etag } ?? false
    }

    /// Does it as the `number`-th effect, which names its version.
    mutating func apply(_ write: Write, number: Int) -> Outcome {
        switch write.method {
        case "PUT": put(write, number)
        case "PATCH": patch(write, number)
        case "DELETE": delete(write)
        case "POST": append(write, number)
        default: .refused(.refusal(405, "there is GET, HEAD, PUT, PATCH, DELETE and POST"))
        }
    }

    private mutating func put(_ write: Write, _ number: Int) -> Outcome {
        guard let content = write.content else { return .refused(.refusal(400, "no body")) }
        let type = write.type ?? content.type
        let document = Document(content: content, type: type, number: number)
        let before = documents.updateValue(document, forKey: write.path)
        return .applied(Reply(status: before == nil ? 201 : 204).with("ETag", document.etag))
    }

    private mutating func delete(_ write: Write) -> Outcome {
        guard documents.removeValue(forKey: write.path) != nil else {
            return .refused(.refusal(404, "nothing here"))
        }
        return .applied(Reply(status: 204))
    }

    private mutating func patch(_ write: Write, _ number: Int) -> Outcome {
        guard let document = documents[write.path] else {
            return .refused(.refusal(404, "nothing here"))
        }
        guard write.type != "application/json-patch+json", case .json(let patch) = write.content,
            case .json(let value) = document.content
        else { return .refused(.refusal(415, "a merge patch is taken, for JSON")) }
        documents[write.path]?.content = .json(Self.merged(patch, into: value))
        documents[write.path]?.number = number
        // By Content-Location it is the document itself (RFC 9110 8.7).
        let reply = read(write.path, ifNoneMatch: nil)
        return .applied(reply.with("Content-Location", write.path))
    }

    /// RFC 7396 2, written once more: what is tested is not its own judge.
    private static func merged(_ patch: JSONValue, into value: JSONValue?) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members = value?.members ?? []
        for change in changes {
            let index = members.firstIndex { $0.name == change.name }
            if change.value.isNull {
                if let index { members.remove(at: index) }
                continue
            }
            let before = index.map { members[$0].value }
            let value = merged(change.value, into: before)
            let member = JSONMember(name: change.name, value: value)
            if let index { members[index] = member } else { members.append(member) }
        }
        return .object(members)
    }

    /// An object gets the number as its `id`, and every element a document of its own.
    private mutating func append(_ write: Write, _ number: Int) -> Outcome {
        guard case .json(var element) = write.content else {
            return .refused(.refusal(415, "JSON is taken"))
        }
        let list = documents[write.path]?.content ?? .json(.array([]))
        guard case .json(.array(let elements)) = list else {
            return .refused(.refusal(409, "there is no list"))
        }
        if case .object(let members) = element {
            let id = JSONMember(name: "id", value: .string(String(number)))
            element = .object([id] + members)
        }
        let content = Content.json(element)
        let path = "\(write.path)/\(number)"
        documents[write.path] = Document(
            content: .json(.array(elements + [element])),
            type: content.type,
            number: number
        )
        documents[path] = Document(content: content, type: content.type, number: number)
        return .applied(.content(content, status: 201).with("Location", path))
    }
}
