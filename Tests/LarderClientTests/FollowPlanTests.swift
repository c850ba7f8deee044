import LarderModel
import LarderWire
import Testing

@testable import LarderClient

@Suite("A follower's reports and retries")
struct FollowPlanTests {
    private static let refused = LarderError.unreachable([])

    private func retry(_ milliseconds: Int, isTold: Bool) -> FollowPlan.BreakStep {
        .tryAgain(after: .milliseconds(milliseconds), isTold: isTold)
    }

    @Test("A view is told once, over however many connections it comes")
    func views() {
        var plan = FollowPlan()
        #expect(plan.snapshotArrived(7, .cache) == true)
        #expect(plan.snapshotArrived(8, .network) == true)
        _ = plan.streamFailed(.cutOff, randomUnit: 0)
        #expect(plan.snapshotArrived(8, .cache) == false)
        #expect(plan.snapshotArrived(7, .cache) == false)
        #expect(plan.snapshotArrived(8, .network) == false)
        #expect(plan.snapshotArrived(9, .cache) == true)
    }

    @Test("A network snapshot counts even below the known revision: the daemon lost its numbers")
    func lostNumbers() {
        var plan = FollowPlan()
        #expect(plan.snapshotArrived(900, .cache) == true)
        #expect(plan.snapshotArrived(1, .network) == true)
        #expect(plan.snapshotArrived(2, .cache) == true)
    }

    @Test("A deletion is told once, and what comes back is told")
    func deletions() {
        var plan = FollowPlan()
        #expect(plan.deletionArrived() == true)
        #expect(plan.deletionArrived() == false)
        let gone = LarderError.problem(Problem(.deleted, "gone"))
        #expect(plan.streamFailed(gone, randomUnit: 0.5) == retry(5_000, isTold: false))
        #expect(plan.snapshotArrived(9, .network) == true)
        #expect(plan.streamFailed(gone, randomUnit: 0.5) == retry(5_000, isTold: true))
    }

    @Test(
        "Pauses double from 0.1 to 5 s, by chance; an outage is told once, and a short one never"
    )
    func pauses() {
        var plan = FollowPlan()
        let firsts = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]
        for (index, pause) in firsts.enumerated() {
            let step = plan.streamFailed(Self.refused, randomUnit: 1)
            #expect(step == retry(pause, isTold: index == 0))
        }
        for _ in 0..<100 { _ = plan.streamFailed(Self.refused, randomUnit: 1) }
        #expect(plan.streamFailed(Self.refused, randomUnit: 0.5) == retry(2_550, isTold: false))
        plan.streamSpoke()
        #expect(plan.streamFailed(.cutOff, randomUnit: 0.5) == retry(100, isTold: false))
        #expect(plan.streamFailed(Self.refused, randomUnit: 0.5) == retry(150, isTold: true))
        #expect(plan.streamFailed(Self.refused, randomUnit: 0) == retry(100, isTold: false))
    }

    @Test(
        "Pauses double to 30 s while the origin fails",
        arguments: [ProblemKind.unreachable, .badAnswer]
    )
    func pausesOfOrigin(kind: ProblemKind) {
        var plan = FollowPlan()
        for pause in [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000] {
            let step = plan.streamFailed(.problem(Problem(kind, "x")), randomUnit: 1)
            #expect(step == retry(pause, isTold: pause == 100))
        }
        let step = plan.streamFailed(Self.refused, randomUnit: 1)
        #expect(step == retry(5_000, isTold: false))
    }

    @Test("An error that a second try cannot help ends the follower")
    func final() {
        let errors: [LarderError] = [
            .socketRefused(path: "s"), .badAnswer("x"), .decoding(id: "a", reason: "b"),
            .cancelled, .problem(Problem(.miss, "m")), .problem(Problem(.unknownOrigin, "o")),
            .problem(Problem(.badRequest, "r")), .problem(Problem(.originStatus, "s")),
        ]
        for error in errors {
            var plan = FollowPlan()
            #expect(plan.streamFailed(error, randomUnit: 0) == .giveUp, "\(error)")
        }
        var plan = FollowPlan()
        #expect(
            plan.streamFailed(.other(ErrorTests.news), randomUnit: 0) == retry(100, isTold: true)
        )
        for kind in [ProblemKind.unreachable, .timeout, .overloaded, .shuttingDown, .storage] {
            var plan = FollowPlan()
            let step = plan.streamFailed(.problem(Problem(kind, "x")), randomUnit: 0)
            #expect(step == retry(100, isTold: true), "\(kind)")
        }
    }
}
