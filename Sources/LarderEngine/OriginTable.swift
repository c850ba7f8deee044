package import LarderModel

/// The configured origins, and to which of them a URL belongs.
package struct OriginTable: Sendable {
    /// In the order of their names.
    package let origins: [OriginSettings]
    private let byLength: [OriginSettings]

    package init(_ origins: [OriginSettings]) {
        self.origins = origins.sorted { $0.name < $1.name }
        byLength = origins.sorted { $0.baseURL.path.utf8.count > $1.baseURL.path.utf8.count }
    }

    /// The origin whose `base_url` is the longest prefix of `url` in whole path segments.
    ///
    /// A URL with dot segments may lead out of the path that it begins with, and an origin's own
    /// headers with it: only a base URL without a path has such URLs.
    package func origin(of url: WebURL) -> OriginSettings? {
        let hasDots = url.hasDotSegments
        return byLength.first { origin in
            origin.baseURL.isPrefix(of: url) && !(hasDots && origin.baseURL.path != "/")
        }
    }

    /// The origin under whose base URL an id lies; nil for an id that is no URL.
    package func origin(of id: EntryID) -> OriginSettings? {
        guard id.text.contains("://"), let url = try? WebURL(id.text) else { return nil }
        return origin(of: url)
    }
}
