import LarderModel
import NIOCore
import Testing

@testable import LarderServer

@Suite("The watch over silent connections")
struct ConnectionWatchTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private func after(_ time: Duration, _ more: Duration = .zero) -> NIODeadline {
        start + TimeAmount(time) + TimeAmount(more)
    }

    private let moment = Duration.milliseconds(1)

    @Test("A connection may be idle for its time, and no longer")
    func idle() {
        let watch = ConnectionWatch(now: start)
        let time = Limits.idleConnectionTime
        #expect(!watch.isOverdue(isIdle: true, waitsForRequest: false, now: after(time)))
        #expect(watch.isOverdue(isIdle: true, waitsForRequest: false, now: after(time, moment)))
    }

    @Test("Each request starts the idle time again")
    func idleAnew() {
        var watch = ConnectionWatch(now: start)
        let time = Limits.idleConnectionTime
        watch.partArrived()
        watch.readCompleted(isIdle: true, now: after(time))
        #expect(!watch.isOverdue(isIdle: true, waitsForRequest: false, now: after(time * 2)))
        #expect(
            watch.isOverdue(isIdle: true, waitsForRequest: false, now: after(time * 2, moment))
        )
    }

    @Test("A head has to be whole within its time, however its bytes trickle")
    func halfHead() {
        var watch = ConnectionWatch(now: start)
        let time = Limits.stalledRequestTime
        watch.readCompleted(isIdle: true, now: start)
        watch.readCompleted(isIdle: true, now: after(time))
        #expect(!watch.isOverdue(isIdle: true, waitsForRequest: false, now: after(time)))
        #expect(watch.isOverdue(isIdle: true, waitsForRequest: false, now: after(time, moment)))
        watch.partArrived()
        watch.readCompleted(isIdle: false, now: after(time, moment))
        #expect(!watch.isOverdue(isIdle: false, waitsForRequest: false, now: after(time * 9)))
    }

    @Test("A body whose bytes stop is given up, one that keeps coming is not")
    func stalledBody() {
        var watch = ConnectionWatch(now: start)
        let time = Limits.stalledRequestTime
        for round in 1...10 {
            let now = after(time * round)
            #expect(!watch.isOverdue(isIdle: false, waitsForRequest: true, now: now))
            watch.partArrived()
            watch.readCompleted(isIdle: false, now: now)
        }
        let end = after(time * 11, moment)
        #expect(watch.isOverdue(isIdle: false, waitsForRequest: true, now: end))
        // While the daemon is who is slow, nothing is the client's fault.
        #expect(!watch.isOverdue(isIdle: false, waitsForRequest: false, now: end))
    }

    @Test("A body that trickles is given up after its time, one that comes at a fair rate is not")
    func tricklingBody() {
        for (bytes, isTaken) in [(1, false), (Limits.bodyBytesPerSecondMin * 20, true)] {
            var watch = ConnectionWatch(now: start)
            let interval = Duration.seconds(20)
            let rounds = Int(Limits.bodyTimeBase / interval)
            watch.bodyAwaited(now: start)
            for round in 1...rounds {
                watch.bodyArrived(bytes)
                watch.readCompleted(isIdle: false, now: after(interval * round))
            }
            let end = after(Limits.bodyTimeBase, .seconds(3))
            watch.bodyAwaited(now: end)
            #expect(!watch.isOverdue(isIdle: false, waitsForRequest: true, now: end) == isTaken)
            // The next request has its own time.
            watch.requestEnded()
            watch.bodyAwaited(now: end)
            #expect(!watch.isOverdue(isIdle: false, waitsForRequest: true, now: end))
        }
    }

    @Test("A client that takes bytes of its last answer has all of its time again")
    func slowReader() {
        var watch = ConnectionWatch(now: start)
        let time = Limits.stalledResponseTime
        func isOverdue(_ now: NIODeadline) -> Bool {
            watch.isOverdue(isIdle: false, waitsForRequest: false, now: now)
        }
        watch.closingBegan(now: start)
        for round in 0..<4 {
            watch.looked(unsentBytes: 900 - round, now: after(time * round))
            #expect(!isOverdue(after(time * round)))
        }
        watch.looked(unsentBytes: 897, now: after(time * 4, moment))
        #expect(isOverdue(after(time * 4, moment)))
    }

    @Test("A last answer that its client does not read has the same time limit as any other")
    func unreadLastAnswer() {
        var watch = ConnectionWatch(now: start)
        let time = Limits.stalledResponseTime
        watch.closingBegan(now: start)
        watch.readCompleted(isIdle: false, now: after(time))
        #expect(!watch.isOverdue(isIdle: false, waitsForRequest: false, now: after(time)))
        #expect(watch.isOverdue(isIdle: false, waitsForRequest: false, now: after(time, moment)))
    }
}
