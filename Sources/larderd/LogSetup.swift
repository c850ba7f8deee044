import LarderConfiguration
import LarderEngine
import LarderJSON
import LarderModel
import Logging
import Synchronization

/// How the daemon logs: lines on stderr with the priority that journald reads, or JSON.
enum LogSetup {
    static func logger(_ settings: Configuration.Log) -> Logger {
        let logger = Logger(label: "larderd") { _ in StderrLogHandler(format: settings.format) }
        setLevel(settings.level, of: logger)
        return logger
    }

    /// Writes why the process ends, as an error (priority 3 of syslog(3)).
    ///
    /// A service has the journal's prefix, and a person on a terminal none.
    static func writeFatal(_ message: String, _ settings: Configuration.Log) {
        switch settings.format {
        case .json:
            let fields = [(key: "reason", value: Logger.Metadata.Value.string(message))]
            StandardError.write(StderrLogHandler.json(.error, "larderd ends", fields))
        case .auto:
            let environment = ProcessEnvironment.environment
            let isService =
                environment["JOURNAL_STREAM"] != nil || environment["INVOCATION_ID"] != nil
            StandardError.write((isService ? "<3>" : "") + "larderd: \(message)")
        }
    }

    /// Has the logger and all its copies write from a level on.
    static func setLevel(_ level: Configuration.LogLevel, of logger: Logger) {
        var logger = logger
        logger.logLevel = Logger.Level(rawValue: level.rawValue) ?? .info
    }
}

/// Writes each record as one line to stderr.
struct StderrLogHandler: LogHandler {
    /// From which level on all handlers write; a reload changes it.
    private static let threshold = Mutex(Logger.Level.info)
    private let format: Configuration.LogFormat
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?
    var logLevel: Logger.Level {
        get { Self.threshold.withLock { $0 } }
        set { Self.threshold.withLock { $0 = newValue } }
    }

    init(format: Configuration.LogFormat) { self.format = format }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { _, new in new }
            .sorted { $0.key < $1.key }
        switch format {
        case .auto:
            // The number is a priority (sd-daemon(3)): `<6>message key=value`.
            let data = fields.map { " \($0.key)=\($0.value)" }.joined()
            StandardError.write("<\(event.level.priority)>\(event.message)\(data)")
        case .json:
            StandardError.write(Self.json(event.level, "\(event.message)", fields))
        }
    }

    static func json(
        _ level: Logger.Level,
        _ message: String,
        _ fields: [(key: String, value: Logger.Metadata.Value)]
    ) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("time", SystemClock().now().rfc3339)
        writer.member("level", level.rawValue)
        writer.member("message", message)
        for field in fields { writer.member(field.key, "\(field.value)") }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension Logger.Level {
    /// The priority of syslog(3).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
