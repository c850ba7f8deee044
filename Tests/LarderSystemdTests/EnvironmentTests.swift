import Testing

@testable import LarderSystemd

@Suite("Variables that systemd sets")
struct EnvironmentTests {
    private static let pid: Int32 = 42

    private func read(_ variables: [String: String]) throws(SystemdError) -> ServiceEnvironment {
        try ServiceEnvironment(variables, pid: Self.pid)
    }

    @Test("Without systemd there is nothing")
    func nothing() throws {
        let environment = try read(["HOME": "/root"])
        #expect(environment.notifier == nil)
        #expect(environment.socket == nil)
        #expect(environment.watchdog == nil)
    }

    @Test(
        "A socket is taken when it is for this process and the only one",
        arguments: [
            (["LISTEN_PID": "42", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "api"], true),
            (["LISTEN_PID": "42", "LISTEN_FDS": "1"], true),
            (["LISTEN_PID": "42", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "unknown"], true),
            (["LISTEN_PID": "43", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "api"], false),
            (["LISTEN_PID": "43", "LISTEN_FDS": "x"], false),
            (["LISTEN_FDS": "1"], false),
            (["LISTEN_PID": "42"], false),
            (["LISTEN_PID": "42", "LISTEN_FDS": "0"], false),
        ]
    )
    func sockets(variables: [String: String], isTaken: Bool) throws {
        let socket = isTaken ? InheritedSocket(descriptor: 3) : nil
        #expect(try read(variables).socket == socket)
    }

    @Test(
        "Sockets that are passed in any other way are refused with a message",
        arguments: [
            (
                ["LISTEN_FDS": "1", "LISTEN_FDNAMES": "metrics"],
                SystemdError.unknownSocket(name: "metrics")
            ),
            (["LISTEN_FDS": "2", "LISTEN_FDNAMES": "api:b"], .unknownSocket(name: "b")),
            (
                ["LISTEN_FDS": "2", "LISTEN_FDNAMES": "api:api"],
                .notOneSocket(name: "api", count: 2)
            ),
            (["LISTEN_FDS": "2"], .notOneSocket(name: "api", count: 2)),
            (
                ["LISTEN_FDS": "2", "LISTEN_FDNAMES": "api"],
                .badVariable(name: "LISTEN_FDNAMES", value: "api")
            ),
            (
                ["LISTEN_FDS": "1", "LISTEN_FDNAMES": ""], .unknownSocket(name: "")
            ),
            (["LISTEN_FDS": "x"], .badVariable(name: "LISTEN_FDS", value: "x")),
            (["LISTEN_FDS": "-1"], .badVariable(name: "LISTEN_FDS", value: "-1")),
            (
                ["LISTEN_FDS": "9223372036854775807"],
                .badVariable(name: "LISTEN_FDS", value: "9223372036854775807")
            ),
        ]
    )
    func badSockets(variables: [String: String], error: SystemdError) {
        #expect(throws: error) { try read(variables.merging(["LISTEN_PID": "42"]) { $1 }) }
    }

    @Test("A process number that is none is refused")
    func badPID() {
        #expect(throws: SystemdError.badVariable(name: "LISTEN_PID", value: "me")) {
            try read(["LISTEN_PID": "me", "LISTEN_FDS": "1"])
        }
    }

    @Test(
        "The watchdog counts when it is set for this process or for any",
        arguments: [
            (["WATCHDOG_USEC": "30000000"], Duration.seconds(30)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"], .seconds(30)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"], nil),
            (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_PID": "42"], nil),
        ]
    )
    func watchdog(variables: [String: String], time: Duration?) throws {
        let watchdog = try read(variables).watchdog
        #expect(watchdog?.time == time)
        #expect(watchdog?.interval == time.map { $0 / 2 })
    }

    @Test(
        "An address that is no Unix socket's is refused",
        arguments: ["", "/", "@", "vsock:2:1234", "run/notify", String(repeating: "/x", count: 60)]
    )
    func badAddress(address: String) {
        #expect(throws: SystemdError.badVariable(name: "NOTIFY_SOCKET", value: address)) {
            try read(["NOTIFY_SOCKET": address])
        }
    }
}
