package import Logging

/// What was logged, as `message key=value key=value`, keys in order.
package final class LogRecorder: Sendable {
    package let lines = Recorder<String>()

    package init() {}

    package var logger: Logger {
        Logger(label: "test") { _ in Handler(lines: self.lines) }
    }

    private struct Handler: LogHandler {
        let lines: Recorder<String>
        var metadata = Logger.Metadata()
        var metadataProvider: Logger.MetadataProvider?
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = metadata.merging(event.metadata ?? [:]) { _, new in new }
                .sorted { $0.key < $1.key }
            lines.record("\(event.message)" + fields.map { " \($0.key)=\($0.value)" }.joined())
        }
    }
}
