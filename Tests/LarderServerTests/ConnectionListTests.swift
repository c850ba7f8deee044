import NIOEmbedded
import Testing

@testable import LarderServer

@Suite("The list of open connections")
struct ConnectionListTests {
    @Test("A user cannot use up all connections, and all users cannot exceed the daemon's limit")
    func limits() throws {
        let list = ConnectionList(connectionsMax: 3, perUserMax: 2)
        let channels = (0..<6).map { _ in EmbeddedChannel() }
        #expect(list.add(channels[0], uid: 1))
        #expect(list.add(channels[1], uid: 1))
        #expect(!list.add(channels[2], uid: 1))
        #expect(list.add(channels[3], uid: 2))
        #expect(!list.add(channels[4], uid: 3))
        #expect(list.count == 3)
        _ = try channels[1].finish()
        #expect(list.count == 2)
        #expect(list.add(channels[5], uid: 1))
        #expect(!list.add(channels[2], uid: 1))
        for channel in channels { _ = try? channel.finish() }
        #expect(list.count == 0)
    }

    @Test("A list that drains accepts no connections and waits for the last one to close")
    func drain() async throws {
        let list = ConnectionList()
        let channel = NIOAsyncTestingChannel()
        #expect(list.add(channel, uid: 1))
        list.drain()
        #expect(!list.add(EmbeddedChannel(), uid: 1))
        async let gone: Void = list.waitUntilEmpty()
        _ = try await channel.finish()
        await gone
        #expect(list.count == 0)
        await list.waitUntilEmpty()
    }

    @Test("Limits count by users as the documents promise")
    func promised() {
        let list = ConnectionList()
        var channels: [EmbeddedChannel] = []
        while channels.count < 2_000 {
            let channel = EmbeddedChannel()
            #expect(list.add(channel, uid: 7))
            channels.append(channel)
        }
        #expect(list.count == 2_000)
        list.closeAll()
        for channel in channels { channel.embeddedEventLoop.run() }
        #expect(list.count == 0)
    }
}
