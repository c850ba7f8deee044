package import LarderJSON

/// Version and fetch of an entity's state.
package struct EntityStamp: Equatable, Sendable {
    /// Version that the version rule found in the entity; nil without such a rule.
    package let version: EntityVersion?
    /// The number that the last applied fetch took when it started.
    package let fetch: Int64

    package init(version: EntityVersion?, fetch: Int64) {
        self.version = version
        self.fetch = fetch
    }

    /// Whether an answer of this version and fetch comes too late to overwrite the state.
    ///
    /// Versions that are equal, or that cannot be compared, leave the decision to the fetch
    /// numbers.
    func isAhead(of version: EntityVersion?, fetch: Int64) -> Bool {
        if let held = self.version, let version {
            if version.isLess(than: held) == true { return true }
            if held.isLess(than: version) == true { return false }
        }
        return fetch < self.fetch
    }
}

/// A version as an origin gives it: a number, or a text that sorts, such as a time of RFC 3339.
package enum EntityVersion: Equatable, Sendable {
    case number(JSONNumber)
    case text(String)

    /// Reads a version; nil for a value that is not a version.
    package init?(_ value: JSONValue) {
        switch value {
        case .number(let number): self = .number(number)
        case .string(let text): self = .text(text)
        case .null, .bool, .array, .object: return nil
        }
    }

    package var value: JSONValue {
        switch self {
        case .number(let number): .number(number)
        case .text(let text): .string(text)
        }
    }

    /// Whether this version is lower; nil if the two cannot be compared.
    func isLess(than other: EntityVersion) -> Bool? {
        switch (self, other) {
        case (.number(let left), .number(let right)): left.isLess(than: right)
        case (.text(let left), .text(let right)):
            left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.number, .text), (.text, .number): nil
        }
    }
}
