package import LarderJSON
import LarderModel

/// Why a text or a query is not the value of the API that it should be.
///
/// Each names the place: `settings.fetch.timeout`, `changes[2].target`.
package enum APIDecodingError: Error, Equatable, Sendable {
    /// Where a value comes from, which is what a message calls it.
    package enum Source: Equatable, Sendable {
        case json
        case query
    }

    /// The bytes are not JSON.
    case notJSON(JSONError)
    /// The query's percent-encoding is invalid; the name as it was given.
    case badEncoding(name: String)
    /// The members that the type has, in the order of their declaration.
    case unknownMember(String, in: String, known: [String], Source)
    case repeatedMember(String, in: String, Source)
    case missingMember(String, in: String, Source)
    /// `found` and `wanted` are nouns: `a string`.
    case wrongType(at: String, found: String, wanted: String)
    case outOfRange(at: String, text: String, wanted: String)
    /// A text that is none of those that there are.
    case unknownValue(at: String, text: String, known: [String])
    /// A text that its type refuses, and why.
    case invalid(at: String, reason: String)

    /// The error in one sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .notJSON(let error): error.message
        case .badEncoding(let name):
            "the query parameter '\(name)' is not percent-encoded UTF-8"
        case .unknownMember(let name, let place, let known, let source):
            "unknown \(source.noun) '\(name)'\(Self.within(place)), "
                + nearestNameAdvice(on: name, among: known)
        case .repeatedMember(let name, let place, let source):
            "the \(source.noun) '\(name)'\(Self.within(place)) is given twice"
        case .missingMember(let name, let place, let source):
            "the \(source.noun) '\(name)'\(Self.within(place)) is missing"
        case .wrongType(let place, let found, let wanted):
            "\(place.isEmpty ? "the body" : "'\(place)'") is \(found), \(wanted) is needed"
        case .outOfRange(let place, let text, let wanted):
            "\(place): \(text) is out of range, \(wanted) is needed"
        case .unknownValue(let place, let text, let known):
            "\(place): '\(text)' is unknown, \(nearestNameAdvice(on: text, among: known))"
        case .invalid(let place, let reason): "\(place): \(reason)"
        }
    }

    private static func within(_ place: String) -> String {
        place.isEmpty ? "" : " in '\(place)'"
    }
}

extension APIDecodingError.Source {
    fileprivate var noun: String {
        switch self {
        case .json: "member"
        case .query: "query parameter"
        }
    }
}
