import FoundationEssentials
import LarderModel

/// The time of day, to show a person how old something is.
enum WallClock {
    static func now() -> Timestamp {
        Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1_000))
    }
}
