/// Where an origin comes from.
package enum OriginSource: Hashable, Sendable {
    /// The configuration file, or a file in the folder next to it.
    case file(String)
    /// The API: it was added while the daemon ran, and is kept in the state directory.
    case api
    /// No configuration: a user asked their own daemon for a public URL.
    case implicit
}

/// An origin and where it comes from.
package struct KnownOrigin: Equatable, Sendable {
    package var settings: OriginSettings
    package var source: OriginSource

    package var name: OriginName { settings.name }

    package init(_ settings: OriginSettings, from source: OriginSource) {
        self.settings = settings
        self.source = source
    }
}
