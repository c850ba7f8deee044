/// Conditions of a write on the state under its id (RFC 9110 13.1.1, 13.1.2).
package struct WriteConditions: Equatable, Sendable {
    /// The values of If-Match and of If-None-Match; empty where there is none.
    package let ifMatch: [String]
    package let ifNoneMatch: [String]

    package init(ifMatch: [String] = [], ifNoneMatch: [String] = []) {
        self.ifMatch = ifMatch
        self.ifNoneMatch = ifNoneMatch
    }

    package var isEmpty: Bool { ifMatch.isEmpty && ifNoneMatch.isEmpty }

    /// Whether the write may go on where a read gives `tag`; nil where it shows nothing.
    package func areMet(by tag: String?) -> Bool {
        guard let tag else { return ifMatch.isEmpty }
        if !ifMatch.isEmpty, !EntityTagList.containsStrongly(tag, in: ifMatch) { return false }
        return ifNoneMatch.isEmpty || !EntityTagList.contains(tag, in: ifNoneMatch)
    }
}
