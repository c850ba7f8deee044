/// Why bytes from the store are not what they should be.
package enum NormalizeError: Error, Equatable, Sendable {
    /// They are cut, changed, or something else.
    case damaged(StoredForm, at: Int)
    /// They were written by another version of Larder.
    case otherVersion(StoredForm)
    /// Two of them that do not belong together.
    case mismatched(StoredForm)

    /// One sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .damaged(let form, let offset): "\(form.text) is damaged at byte \(offset)"
        case .otherVersion(let form): "\(form.text) was written by another version"
        case .mismatched(let form): "\(form.text) belongs to something else"
        }
    }
}

/// What is stored of a normalized answer, each in bytes of its own.
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
