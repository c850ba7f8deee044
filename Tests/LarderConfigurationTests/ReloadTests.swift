import LarderModel
import Testing

@testable import LarderConfiguration

/// What of a configuration that is read again can be put in force.
@Suite("A configuration that is read again")
struct ReloadTests {
    @Test("Limits and the log level are taken, paths and sockets need a restart")
    func changes() throws {
        let old = try configuration("log: {level: info}\n")
        let new = try configuration(
            """
            sockets: {api: /tmp/other.sock, mode: "0600"}
            cache: {max_bytes: 1GiB, memory_bytes: 3MiB}
            access: {user_share: 0.25}
            log: {level: debug, format: json}
            """
        )
        let (taken, needingRestart) = new.changes(from: old)
        #expect(taken == [.cacheMaxBytes, .accessUserShare, .logLevel])
        #expect(needingRestart == [.socketsAPI, .socketsMode, .cacheMemoryBytes, .logFormat])
        var expected = old
        expected.cache.maxBytes = ByteSize(bytes: 1 << 30)
        expected.access.userShare = 0.25
        expected.log.level = .debug
        #expect(new.inForce(after: old) == expected)
    }

    @Test("Keys that need a restart are named until there is one")
    func pending() throws {
        let old = try configuration("")
        let new = try configuration("log: {format: json}\n")
        let inForce = new.inForce(after: old)
        #expect(new.changes(from: inForce).needingRestart == [.logFormat])
        #expect(new.changes(from: new).needingRestart == [])
    }
}
