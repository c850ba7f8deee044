package import LarderModel
package import LarderWire

/// What reads the settings that the API is given, and keeps them over the daemon's end.
///
/// The engine knows no files: whoever wires the daemon gives it these. Each is called by one
/// thread at a time, off the event loops, and returns when what it does is on disk.
package struct OriginKeeping: Sendable {
    /// What each of them throws.
    package typealias Refusal = Problem

    /// Makes settings of a JSON object whose members are the keys of an origin.
    package var read: @Sendable (OriginName, _ json: [UInt8]) throws(Refusal) -> OriginSettings
    package var save: @Sendable (OriginSettings) throws(Refusal) -> Void
    package var remove: @Sendable (OriginName) throws(Refusal) -> Void

    package init(
        read: @escaping @Sendable (OriginName, [UInt8]) throws(Refusal) -> OriginSettings,
        save: @escaping @Sendable (OriginSettings) throws(Refusal) -> Void,
        remove: @escaping @Sendable (OriginName) throws(Refusal) -> Void
    ) {
        self.read = read
        self.save = save
        self.remove = remove
    }
}
