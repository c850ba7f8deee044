/// For whom something is read off the event loops, which says behind whom it may have to wait.
package enum Reading: Sendable {
    /// What somebody asks for: behind their own reads, and in turns with other users.
    case asked(by: User)
    /// What has to be known to send a modifier and to settle it: behind each other only.
    case sending
    /// Whether the store can be read at all: behind nothing else.
    case check

    package enum User: Hashable, Sendable {
        case uid(UInt32)
        /// What the daemon does by itself takes its turn like a user's.
        case daemon
    }

    /// For whom the reads of this task are.
    @TaskLocal package static var current = Reading.asked(by: .daemon)
}
