import Testing

@testable import LarderEngine

@Suite("A mailbox", .timeLimit(.minutes(1)))
struct MailboxTests {
    private final class Held: Sendable {}

    @Test("After its end a mailbox gives the unread events, and then holds no object")
    func left() async {
        let mailbox = Mailbox<Held>()
        weak var last: Held?
        do {
            let held = Held()
            last = held
            let task = Task { for await _ in mailbox.events {} }
            task.cancel()
            await task.value
            _ = mailbox.post(held)
        }
        var count = 0
        for await _ in mailbox.ended() { count += 1 }
        #expect(count <= 1)
        #expect(last == nil)
        #expect(!mailbox.post(Held()))
    }

    @Test("Events posted before the end are there after it, also in a cancelled task")
    func cancelled() async {
        let mailbox = Mailbox<Int>()
        for number in 0..<3 { mailbox.post(number) }
        let task = Task {
            await Task.yield()
            var left: [Int] = []
            for await number in mailbox.ended() { left.append(number) }
            return left
        }
        task.cancel()
        #expect(await task.value == [0, 1, 2])
        #expect(!mailbox.post(3))
    }
}
