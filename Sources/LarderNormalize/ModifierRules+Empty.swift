package import LarderJSON
package import LarderModel

extension ModifierRules {
    /// The form of a target, by its path after the base URL, while nothing of it is known.
    package func form(forPath path: String) -> JSONValue? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let form = empty.first { form in
            let pattern = PercentCoding.path(form.path)
                .split(separator: "/", omittingEmptySubsequences: false)
            return pattern.count == segments.count
                && zip(pattern, segments).allSatisfy { pattern, segment in
                    pattern == "*" ? !segment.isEmpty : pattern.utf8.elementsEqual(segment.utf8)
                }
        }
        return form.flatMap { try? JSONValue(parsing: Array($0.form.utf8)) }
    }
}
