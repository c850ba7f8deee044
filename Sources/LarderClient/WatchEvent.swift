/// What a watch tells.
public enum WatchEvent: Sendable {
    /// A change, or `bookmark`: everything up to its revision was told.
    case frame(WatchFrame)
    /// The daemon does not know any more what has changed since the last event: whatever the program
    /// holds may be old. It goes on from now.
    case lost
    /// There is no daemon at the moment; told once, and the watch goes on by itself.
    case disconnected(LarderError)
}
