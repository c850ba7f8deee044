import LarderConfiguration
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

    /// Has the logger and all its copies write from a level on.
    static func setLevel(_ level: Configuration.LogLevel, of logger: Logger) {
        var logger = logger
        logger.logLevel = Logger.Level(rawValue: level.rawValue) ?? .info
    }
}
