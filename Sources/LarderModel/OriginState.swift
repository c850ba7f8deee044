/// What the last requests to an origin told.
package enum OriginState: String, Sendable {
    case unknown
    case online
    case offline
    case captive
}
