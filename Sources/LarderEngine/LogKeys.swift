package import Logging

/// The keys of everything that is logged as data; journald has them as `LARDER_ID` and so on.
package enum LogKey: String {
    case id
    case origin
    case state
    case reason
    /// SQL that failed, which users are not shown.
    case statement
    case uid
    case use
    case requestID = "request_id"
    case path
    case count
    case version
    case duration = "duration_ms"
}

extension Logger.Metadata {
    package static func larder(_ fields: [LogKey: Logger.MetadataValue]) -> Logger.Metadata {
        Logger.Metadata(uniqueKeysWithValues: fields.map { ($0.key.rawValue, $0.value) })
    }
}
