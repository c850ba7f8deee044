import LarderConfiguration
import LarderEngine
import LarderJSON
import LarderModel
import Logging

/// How the daemon logs: lines on stderr with the priority that journald reads, or JSON.
enum LogSetup {
    static func logger(_ settings: Configuration.Log) -> Logger {
        let logger = Logger(label: "larderd") { _ in
            switch settings.format {
            case .auto: StderrLogHandler(style: .prefixed)
            case .json: StderrLogHandler(style: .json)
            }
        }
        setLevel(settings.level, of: logger)
        return logger
    }

    /// Writes why the process ends, as an error (priority 3 of syslog(3)).
    ///
    /// A service has the journal's prefix, and a person on a terminal none.
    static func writeFatal(
        _ message: String,
        _ settings: Configuration.Log,
        _ environment: [String: String]
    ) {
        switch settings.format {
        case .json:
            var json = JSONWriter()
            json.object { json in
                json.member("time", SystemClock().now().rfc3339)
                json.member("level", "error")
                json.member("message", "larderd ends")
                json.member("reason", message)
            }
            StandardError.write(String(decoding: json.bytes, as: UTF8.self))
        case .auto:
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
