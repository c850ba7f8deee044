import LarderJSON
import LarderModel

extension ConfigurationReader {
    /// Reads the forms of documents that are not cached, by their paths.
    mutating func emptyForms(_ part: Item) -> [EmptyForm] {
        var forms: [EmptyForm] = []
        for item in items(of: part) {
            guard item.name.hasPrefix("/") else {
                report(item.place, "\(item.path): a path begins with '/', such as /todos")
                continue
            }
            guard forms.count < Limits.emptyFormsMax else {
                report(item.place, "at most \(Limits.emptyFormsMax) forms are taken")
                break
            }
            let form = JSONValue(item.value)
            guard form.members != nil || form.elements != nil else {
                report(place(of: item.value), "\(item.path): a form is an object or a list")
                continue
            }
            let text = String(decoding: form.bytes, as: UTF8.self)
            guard text.utf8.count <= Limits.emptyFormBytesMax else {
                let most = Limits.emptyFormBytesMax
                report(place(of: item.value), "\(item.path): a form has at most \(most) bytes")
                continue
            }
            forms.append(EmptyForm(path: item.name, form: text))
        }
        return forms
    }
}

extension JSONValue {
    /// A node as the core schema of YAML reads it: an unquoted word may be null, a truth or a number.
    fileprivate init(_ node: YAMLNode) {
        switch node.kind {
        case .sequence(let nodes): self = .array(nodes.map(JSONValue.init))
        case .mapping(let pairs):
            self = .object(
                pairs.map { JSONMember(name: $0.key.text ?? "", value: JSONValue($0.value)) }
            )
        case .scalar(let scalar):
            let bytes = Array(scalar.text.utf8)
            if scalar.isPlain, scalar.text.isEmpty || scalar.text == "~" {
                self = .null
            } else if scalar.isPlain, let value = try? JSONValue(parsing: bytes) {
                self = value
            } else {
                self = .string(scalar.text)
            }
        }
    }
}
