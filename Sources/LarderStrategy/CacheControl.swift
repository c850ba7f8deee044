/// The Cache-Control directives of an answer that Larder respects (RFC 9111 5.2.2).
struct CacheControl: Equatable {
    /// The first that is given; zero where it cannot be read, which is then stale (4.2.1).
    private(set) var maxAge: Duration?
    private(set) var isNoStore = false
    /// Whether it is for the one who asked, as a whole or in some fields of it.
    private(set) var isPrivate = false
    /// Whether everything is to be confirmed before use, not only some fields of it.
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
