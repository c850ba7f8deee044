import LarderJSON
import LarderModel

extension StatusReport {
    /// The configuration that is in force.
    package struct Configuration: Equatable, Sendable {
        /// The absolute path of its file; nil where there is none and the defaults count.
        package var file: String?
        /// When it was read.
        package var readAt: Timestamp
        /// The rights that the socket's file is to have.
        package var socketMode: Int

        package init(file: String?, readAt: Timestamp, socketMode: Int) {
            self.file = file
            self.readAt = readAt
            self.socketMode = socketMode
        }
    }
}

extension StatusReport.Configuration {
    /// The rights as chmod(1) spells them: `0660`.
    package var socketModeText: String { "0" + String(socketMode, radix: 8) }

    func write(to json: inout JSONWriter) {
        json.member("file", file)
        json.member("read_at", readAt.rfc3339)
        json.member("socket_mode", socketModeText)
    }

    init(_ object: WireObject) throws(WireError) {
        file = try object.optionalString("file")
        readAt = try object.timestamp("read_at")
        socketMode = try object.required("socket_mode") { Int($0, radix: 8) }
    }
}
