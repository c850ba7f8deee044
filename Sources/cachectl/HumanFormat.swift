import FoundationEssentials
import LarderAPI
import LarderModel

/// Numbers as people say them.
enum HumanFormat {
    /// `512 MiB`, `1.5 GiB`, `17 B`.
    static func size(_ bytes: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var value = Double(bytes)
        var unit = 0
        while value >= 1_024, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        let tenths = (value * 10).rounded() / 10
        let isWhole = tenths == tenths.rounded() || tenths >= 100
        return "\(isWhole ? String(Int64(tenths.rounded())) : String(tenths)) \(units[unit])"
    }

    /// `45 s`, `12 min`, `3 h`, `5 d`: the largest unit that fits.
    static func span(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        return switch seconds {
        case 0..<120: "\(seconds) s"
        case 120..<7_200: "\(seconds / 60) min"
        case 7_200..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// The span from a moment until now.
    static func age(_ moment: LarderAPI.Timestamp) -> String {
        span(.milliseconds(WallClock.now().milliseconds - moment.milliseconds))
    }

    /// `5.8 µs`, `183 ms`, `1.2 s`, or a dash for none.
    static func time(milliseconds: Double?) -> String {
        guard let milliseconds else { return "-" }
        let microseconds = max(0, milliseconds * 1_000)
        let (value, unit): (Double, String) =
            switch microseconds {
            case ..<1_000: (microseconds, "µs")
            case ..<1_000_000: (microseconds / 1_000, "ms")
            default: (min(microseconds, 1e15) / 1_000_000, "s")
            }
        let tenths = (value * 10).rounded() / 10
        return "\(tenths >= 10 ? String(Int64(tenths.rounded())) : String(tenths)) \(unit)"
    }

    /// `1 entry`, `12 entries`.
    static func entries(_ count: Int) -> String {
        count == 1 ? "1 entry" : "\(count) entries"
    }

    /// `97 %`, or a dash for none.
    static func percent(_ share: Double?) -> String {
        share.map { "\(Int(($0 * 100).rounded())) %" } ?? "-"
    }
}

/// The time of day, to show a person how old something is.
enum WallClock {
    static func now() -> Timestamp {
        Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1_000))
    }
}

// LarderAPI has types of these names, for the wire; here they are the model's.
typealias Timestamp = LarderModel.Timestamp
