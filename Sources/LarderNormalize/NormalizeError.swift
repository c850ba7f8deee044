/// Why bytes from the store are not what they should be.
package enum NormalizeError: Error, Equatable, Sendable {
    /// The bytes are cut off, changed, or of another kind.
    case damaged(StoredForm, at: Int)
    /// Another version of Larder wrote the bytes.
    case otherVersion(StoredForm)
    /// Two forms do not belong together.
    case mismatched(StoredForm)

    /// A sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .damaged(let form, let offset): "\(form.text) is damaged at byte \(offset)"
        case .otherVersion(let form): "\(form.text) was written by another version"
        case .mismatched(let form): "\(form.text) belongs to something else"
        }
    }
}

/// The stored parts of normalized answers, each with its own bytes.
package enum StoredForm: UInt8, Sendable, CaseIterable {
    case entity = 1
    case skeleton = 2
    case template = 3

    fileprivate var text: String {
        switch self {
        case .entity: "a stored entity"
        case .skeleton: "a stored skeleton"
        case .template: "a stored template"
        }
    }
}
