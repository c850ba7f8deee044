import Glibc
import LarderTestSupport
import Testing

@testable import LarderSystemd

@Suite("Notices to systemd", .timeLimit(.minutes(5)))
struct NotifierTests {
    @Test(
        "A notice is the lines that systemd reads",
        arguments: [
            (ServiceNotice.ready(status: "it serves"), "READY=1\nSTATUS=it serves\n"),
            (.stopping(status: "it ends"), "STOPPING=1\nSTATUS=it ends\n"),
            (.status("a\nREADY=1\r\nb"), "STATUS=a READY=1 b\n"),
            (.watchdog, "WATCHDOG=1\n"),
            (.reloading(microseconds: 7_000_001), "RELOADING=1\nMONOTONIC_USEC=7000001\n"),
        ]
    )
    func text(notice: ServiceNotice, text: String) {
        #expect(notice.text == text)
    }

    @Test("A notice arrives as one datagram, by path and by abstract address")
    func datagrams() throws {
        let directory = try TemporaryDirectory()
        for address in [directory.path("notify"), "@\(directory.path)/notify"] {
            let receiver = try Receiver(address)
            let notifier = try ServiceNotifier(address: address)
            try notifier.send(.ready(status: "é"))
            try notifier.send(.watchdog)
            #expect(receiver.next() == "READY=1\nSTATUS=é\n")
            #expect(receiver.next() == "WATCHDOG=1\n")
        }
    }

    @Test("A notice without a receiver is an error with the reason")
    func nobody() throws {
        let directory = try TemporaryDirectory()
        let address = directory.path("notify")
        let notifier = try ServiceNotifier(address: address)
        let reason = "No such file or directory"
        #expect(throws: SystemdError.cannotNotify(address: address, reason: reason)) {
            try notifier.send(.watchdog)
        }
    }

    @Test("The watchdog is told once an interval, and not when the check fails")
    func watchdog() async throws {
        let watchdog = try #require(try Watchdog(["WATCHDOG_USEC": "30000000"], pid: 1))
        let clock = ManualClock()
        let told = Recorder<Duration>()
        let checked = Recorder<Duration>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await watchdog.feed(
                    sleep: { try await clock.sleep(until: clock.monotonic() + $0) },
                    isWell: {
                        checked.record(clock.monotonic())
                        return checked.all.count != 2
                    },
                    tell: { told.record(clock.monotonic()) }
                )
            }
            for round in 1...3 {
                try await clock.sleepers(until: .seconds(15 * round))
                clock.advance(by: .seconds(15))
            }
            _ = try await checked.element(3)
            group.cancelAll()
        }
        let started = checked.all[0]
        #expect(checked.all.map { $0 - started } == [0, 15, 30, 45].map { .seconds($0) })
        #expect(told.all.map { $0 - started } == [0, 30, 45].map { .seconds($0) })
    }

    /// The service manager's end.
    private final class Receiver {
        private let descriptor: Int32

        init(_ address: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var bytes = Array(address.utf8)
            if address.hasPrefix("@") { bytes[0] = 0 }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length)
                }
            }
            try #require(bound == 0)
        }

        deinit { close(descriptor) }

        /// What was sent before, or nil when nothing was.
        func next() -> String? {
            var bytes = [UInt8](repeating: 0, count: 1_000)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }
}
