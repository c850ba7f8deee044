import LarderModel
import Testing

@Suite("Durations and sizes as people write them")
struct UnitsTests {
    @Test(
        "A duration is read and written in its shortest form",
        arguments: [
            ("300ms", 300, "300ms"), ("10s", 10_000, "10s"), ("5m", 300_000, "5m"),
            ("1h", 3_600_000, "1h"), ("7d", 604_800_000, "7d"), ("0s", 0, "0ms"),
            ("1000ms", 1_000, "1s"), ("60s", 60_000, "1m"), ("1440m", 86_400_000, "1d"),
            ("90s", 90_000, "90s"), ("1500ms", 1_500, "1500ms"), ("007s", 7_000, "7s"),
        ] as [(String, Int64, String)]
    )
    func durations(text: String, milliseconds: Int64, shortest: String) throws {
        let duration = try Duration(unit: text)
        #expect(duration == .milliseconds(milliseconds))
        #expect(duration.unitText == shortest)
        #expect(try Duration(unit: shortest) == duration)
    }

    @Test(
        "Text that is not a duration is refused",
        arguments: [
            "", "10", "s", "10 s", " 10s", "10s ", "-1s", "+1s", "1.5s", "10S", "10sec", "1h30m",
            "١s",
            "10ms2", "9223372036854775808ms", "106751991168d",
        ]
    )
    func badDurations(text: String) {
        #expect(throws: ModelError.badDuration(text)) { try Duration(unit: text) }
    }

    @Test(
        "A size is read and written in its shortest form",
        arguments: [
            ("100B", 100, "100B"), ("64KiB", 65_536, "64KiB"), ("512MiB", 536_870_912, "512MiB"),
            ("1GiB", 1_073_741_824, "1GiB"), ("2TiB", 2_199_023_255_552, "2TiB"), ("0B", 0, "0B"),
            ("1024B", 1_024, "1KiB"), ("1025B", 1_025, "1025B"), ("2048MiB", 2_147_483_648, "2GiB"),
        ] as [(String, Int64, String)]
    )
    func sizes(text: String, bytes: Int64, shortest: String) throws {
        let size = try ByteSize(unit: text)
        #expect(size.bytes == bytes)
        #expect(size.unitText == shortest)
        #expect(try ByteSize(unit: shortest) == size)
    }

    @Test(
        "Text that is not a size is refused",
        arguments: ["", "1", "MiB", "1MB", "1mib", "1 MiB", "-1B", "1.5GiB", "8388608TiB", "1K"]
    )
    func badSizes(text: String) {
        #expect(throws: ModelError.badByteSize(text)) { try ByteSize(unit: text) }
    }
}
