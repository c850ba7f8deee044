import LarderModel
import NIOCore
import NIOPosix
import Testing

@testable import LarderUpstream

@Suite("The place between an answer's receiver and its reader")
struct AnswerSlotTests {
    private struct Broken: Error, Equatable {}

    private static let head = AnswerSlot.Item.head(AnswerHead(status: 200, headers: HeaderFields()))

    @Test("An item that comes first is kept, and its credit paid when it is taken")
    func keepsItem() throws {
        var slot = AnswerSlot()
        let credit = Self.credit()
        guard case .keep = slot.itemArrived(Self.head, credit: credit) else { return fail() }
        guard case .pay(let paid, let item) = slot.readerLooked() else { return fail() }
        #expect(paid.futureResult === credit.futureResult)
        #expect(item == Self.head)
        guard case .wait = slot.readerLooked() else { return fail() }
        paid.succeed()
    }

    @Test("A reader that comes first is handed the item")
    func handsItem() async throws {
        let credit = Self.credit()
        let outcome = await withCheckedContinuation { reader in
            var slot = AnswerSlot()
            guard case .wait = slot.readerAsked(reader) else { return fail() }
            guard case .hand(let waiting) = slot.itemArrived(Self.head, credit: credit) else {
                return fail()
            }
            waiting.resume(returning: .success(Self.head))
        }
        #expect(try outcome.get() == Self.head)
        credit.succeed()
    }

    @Test("The end is given to a waiting reader, and to each later one")
    func ends() async throws {
        let outcome = await withCheckedContinuation { reader in
            var slot = AnswerSlot()
            guard case .wait = slot.readerAsked(reader) else { return fail() }
            guard case .answer(let waiting, let outcome) = slot.requestEnded(nil) else {
                return fail()
            }
            guard case .answer(.success(nil)) = slot.readerLooked() else { return fail() }
            guard case .none = slot.requestEnded(Broken()) else { return fail() }
            waiting.resume(returning: outcome)
        }
        #expect(try outcome.get() == nil)
    }

    @Test("A failure drops the item that was not taken, pays its credit, and drops what comes late")
    func failsWhileFull() throws {
        var slot = AnswerSlot()
        let credit = Self.credit()
        guard case .keep = slot.itemArrived(Self.head, credit: credit) else { return fail() }
        guard case .pay(let paid) = slot.requestEnded(Broken()) else { return fail() }
        #expect(paid.futureResult === credit.futureResult)
        paid.succeed()
        guard case .answer(.failure(let failure)) = slot.readerLooked() else { return fail() }
        #expect(failure.error is Broken)
        let late = Self.credit()
        guard case .drop = slot.itemArrived(.piece([1]), credit: late) else { return fail() }
        late.succeed()
    }

    @Test("A failure says how far the request had come", arguments: 0...2)
    func progress(_ steps: Int) throws {
        var slot = AnswerSlot()
        if steps > 0 { slot.requestLeft() }
        if steps > 1 {
            let credit = Self.credit()
            _ = slot.itemArrived(Self.head, credit: credit)
            _ = slot.readerLooked()
            credit.succeed()
        }
        _ = slot.requestEnded(Broken())
        guard case .answer(.failure(let failure)) = slot.readerLooked() else { return fail() }
        let expected: [AnswerProgress] = [.connecting, .awaitingHead, .readingBody]
        #expect(failure.progress == expected[steps])
    }

    private static func credit() -> AnswerSlot.Credit {
        MultiThreadedEventLoopGroup.singleton.any().makePromise()
    }

    private func fail() {
        Issue.record("it returned another action")
    }
}
