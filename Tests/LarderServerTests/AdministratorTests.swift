import Glibc
import LarderAPI
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

@Suite("Administrators", .timeLimit(.minutes(5)))
struct AdministratorTests {
    private static let group = Administrators.Group(name: "keepers", number: 50)
    private static let none = Administrators.Group(name: "keepers", number: nil)

    @Test(
        "Administrators are root, the daemon's own user, and the members of the group",
        arguments: [
            (0, 0, [], true), (7, 7, [], true), (8, 8, [], false), (8, 50, [], true),
            (8, 8, [1, 50, 99], true), (8, 8, [1, 99], false), (50, 8, [], false),
        ] as [(UInt32, UInt32, [UInt32], Bool)]
    )
    func members(uid: UInt32, gid: UInt32, groups: [UInt32], isOne: Bool) throws {
        let peer = Peer(pid: 1, uid: uid, gid: gid)
        let all = PeerGroups(all: Set(groups + [gid]))
        let administrators = Administrators(daemonUID: 7, group: Self.group)
        #expect(try administrators.include(peer) { all } == isOne)
    }

    @Test("A group that does not exist has no members, and the kernel is not asked about it")
    func noGroup() throws {
        let administrators = Administrators(daemonUID: 7, group: Self.none)
        let peer = Peer(pid: 1, uid: 8, gid: 8)
        let isOne = try administrators.include(peer) { () throws(Problem) in
            throw Problem(.internal, "the kernel is asked")
        }
        #expect(!isOne)
        #expect(administrators.hint.contains("does not exist"))
    }

    @Test("A peer's supplementary groups are what the kernel noted when it connected")
    func groups() throws {
        var ends: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        var own = [gid_t](repeating: 0, count: 65_536)
        let count = try #require(Int(exactly: getgroups(Int32(own.count), &own)))
        let told = try PeerGroups.supplementary(ofPeerAt: ends[0])
        #expect(Set(told) == Set(own.prefix(count)))
        #expect(throws: ServerError.unknownPeer) {
            try PeerGroups.supplementary(ofPeerAt: -1)
        }
    }

    @Test("Status tells a client how it is seen, and others what they are not")
    func you() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let response = try await client.ask("GET", "/v1/status")
            let you = try #require(try StatusReport(decoding: response.body).you)
            #expect(you.user == getuid())
            #expect(you.groups.contains(getgid()))
            #expect(you.administrator)
        }
        try await ServerFixture.run(administrators: .members(of: Self.none)) { server in
            let client = try await server.connect()
            let response = try await client.ask("GET", "/v1/status")
            let you = try #require(try StatusReport(decoding: response.body).you)
            #expect(!you.administrator)
        }
    }
}
