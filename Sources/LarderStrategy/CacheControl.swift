/// The Cache-Control directives of an answer that Larder respects (RFC 9111 5.2.2).
struct CacheControl: Equatable {
    /// The first given `max-age`; zero, which is stale, if it cannot be read (4.2.1).
    private(set) var maxAge: Duration?
    private(set) var isNoStore = false
    /// Whether the answer, or some fields of it, are only for the client that asked.
    private(set) var isPrivate = false
    /// Whether every use needs a confirmation, not only the use of some fields.
    private(set) var isNoCache = false

    /// Reads a list of directives; unknown ones count for nothing.
    init(_ value: String) {
        for directive in CacheDirective.list(value) {
            switch directive.name {
            case "no-store":
                isNoStore = true
            case "private":
                isPrivate = true
            case "no-cache" where directive.argument == nil:
                isNoCache = true
            case "max-age" where maxAge == nil:
                maxAge = directive.argument.flatMap { Duration(deltaSeconds: $0) } ?? .zero
            default:
                continue
            }
        }
    }
}
