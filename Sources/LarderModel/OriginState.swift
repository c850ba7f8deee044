/// Health of an origin after the last requests to it.
package enum OriginState: String, Sendable {
    case unknown
    case online
    case offline
    case captive
}
