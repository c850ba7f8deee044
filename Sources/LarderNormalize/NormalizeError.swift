/// Why bytes from the store are not what they should be.
package enum NormalizeError: Error, Equatable, Sendable {
    /// They are cut, changed, or something else.
    case damaged(StoredForm, at: Int)
    /// They were written by a later version of Larder.
    case laterVersion(StoredForm)
    /// Two of them that do not belong together.
    case mismatched(StoredForm)

    /// One sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .damaged(let form, let offset): "\(form.text) is damaged at byte \(offset)"
        case .laterVersion(let form): "\(form.text) was written by a later version"
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
