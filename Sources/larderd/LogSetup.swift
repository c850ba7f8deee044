import LarderConfiguration
import Logging

/// How the daemon logs: lines on stderr with the priority that journald reads, or JSON.
enum LogSetup {
    static func logger(_ settings: Configuration.Log) -> Logger {
        var logger = Logger(label: "larderd") { _ in
            switch settings.format {
            case .auto: StderrLogHandler(style: .prefixed)
            case .json: StderrLogHandler(style: .json)
            }
        }
        logger.logLevel = Logger.Level(rawValue: settings.level.rawValue) ?? .info
        return logger
    }
}
