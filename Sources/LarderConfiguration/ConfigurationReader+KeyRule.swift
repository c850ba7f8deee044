import LarderModel

extension ConfigurationReader {
    /// Reads the members of a key; null is none.
    mutating func keyRule(_ part: Item, at path: String) -> EntityKeyRule? {
        guard !isNull(part) else { return nil }
        var count = 0
        let item = Item(name: path, place: part.place, value: part.value)
        return EntityKeyRule(keyFields(item, depth: 1, &count))
    }

    /// Stops where there are too many, so that what refers to itself by YAML's anchors ends.
    private mutating func keyFields(
        _ part: Item,
        depth: Int,
        _ count: inout Int
    ) -> [EntityKeyRule.Field] {
        guard depth <= Limits.keyDepthMax else {
            report(part.place, "\(part.name): it is nested more than \(Limits.keyDepthMax) deep")
            return []
        }
        var fields: [EntityKeyRule.Field] = []
        for element in elements(part, at: part.name, Limits.keyFieldsMax) {
            guard count < Limits.keyFieldsMax else {
                report(
                    element.place,
                    "\(part.name): at most \(Limits.keyFieldsMax) fields are taken"
                )
                break
            }
            count += 1
            guard case .mapping(let mapping) = element.value.kind else {
                guard let name = name(element) else { continue }
                fields.append(.member(name))
                continue
            }
            let inner = items(of: element.value, at: element.name)
            guard let field = inner.first, mapping.count == 1 else {
                report(element.place, "\(element.name): a field is NAME or {NAME: [FIELD, ...]}")
                continue
            }
            let within = Item(
                name: "\(element.name).\(field.name)",
                place: field.place,
                value: field.value
            )
            fields.append(
                .within(field.name, keyFields(within, depth: depth + 1, &count))
            )
        }
        return fields
    }
}
