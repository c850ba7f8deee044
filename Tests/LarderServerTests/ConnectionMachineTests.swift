import LarderTestSupport
import Testing

@testable import LarderServer

@Suite("The connection machine")
struct ConnectionMachineTests {
    /// Every state that differs in what may follow.
    enum Start: CaseIterable {
        /// No request has come.
        case new
        /// No request has come, and the drain has begun.
        case newLast
        case idle
        case reading
        case readingLast
        case answering
        case answeringLast
        case unread
        case closed

        var machine: ConnectionMachine {
            var machine = ConnectionMachine()
            switch self {
            case .new: break
            case .newLast: _ = machine.drainBegan(hasWaited: false)
            case .idle:
                _ = machine.headArrived(isLast: false)
                _ = machine.endArrived()
                _ = machine.answerCompleted(hasRoom: true)
            case .reading: _ = machine.headArrived(isLast: false)
            case .readingLast: _ = machine.headArrived(isLast: true)
            case .answering:
                _ = machine.headArrived(isLast: false)
                _ = machine.endArrived()
            case .answeringLast:
                _ = machine.headArrived(isLast: true)
                _ = machine.endArrived()
            case .unread:
                _ = machine.headArrived(isLast: false)
                _ = machine.endArrived()
                _ = machine.answerCompleted(hasRoom: false)
            case .closed: machine.hungUp()
            }
            return machine
        }

        init(_ machine: ConnectionMachine) {
            switch (machine.state, machine.isLast) {
            case (.idle, false): self = machine.begun == 0 ? .new : .idle
            case (.idle, true): self = .newLast
            case (.exchanging(isRequestWhole: false), false): self = .reading
            case (.exchanging(isRequestWhole: false), true): self = .readingLast
            case (.exchanging(isRequestWhole: true), false): self = .answering
            case (.exchanging(isRequestWhole: true), true): self = .answeringLast
            case (.unread, _): self = .unread
            case (.closed, _): self = .closed
            }
        }
    }

    enum Event: CaseIterable {
        case head
        case lastHead
        case body
        case end
        case answerBegan
        case answerCompleted
        case answerUnread
        case roomMade
        case inputEnded
        case drain
        case drainAfterWait
        case parsingFailed
        case hangUp

        /// Has it happen; what the machine said, in words.
        func happen(to machine: inout ConnectionMachine) -> String {
            switch self {
            case .head: "\(machine.headArrived(isLast: false))"
            case .lastHead: "\(machine.headArrived(isLast: true))"
            case .body: "\(machine.bodyArrived())"
            case .end: "\(machine.endArrived())"
            case .answerBegan: machine.answerBegan() ? "announceClose" : "nothing"
            case .answerCompleted: "\(machine.answerCompleted(hasRoom: true))"
            case .answerUnread: "\(machine.answerCompleted(hasRoom: false))"
            case .roomMade: machine.roomMade() ? "goOn" : "nothing"
            case .inputEnded: "\(machine.inputEnded())"
            case .drain: "\(machine.drainBegan(hasWaited: false))"
            case .drainAfterWait: "\(machine.drainBegan(hasWaited: true))"
            case .parsingFailed: "\(machine.parsingFailed())"
            case .hangUp: "\(machine.hungUp())"
            }
        }
    }

    struct Row {
        let start: Start
        let event: Event
        let action: String
        let next: Start

        init(_ start: Start, _ event: Event, _ action: String, _ next: Start) {
            self.start = start
            self.event = event
            self.action = action
            self.next = next
        }
    }

    static let table: [Row] = [
        Row(.new, .head, "begin", .reading),
        Row(.new, .lastHead, "begin", .readingLast),
        Row(.new, .body, "drop", .new),
        Row(.new, .end, "drop", .new),
        Row(.new, .answerBegan, "nothing", .new),
        Row(.new, .answerCompleted, "nothing", .new),
        Row(.new, .answerUnread, "nothing", .new),
        Row(.new, .roomMade, "nothing", .new),
        Row(.new, .inputEnded, "close", .closed),
        Row(.new, .drain, "waitForFirstRequest", .newLast),
        Row(.new, .drainAfterWait, "close", .closed),
        Row(.new, .parsingFailed, "refuse", .readingLast),
        Row(.new, .hangUp, "()", .closed),

        Row(.newLast, .head, "begin", .readingLast),
        Row(.newLast, .lastHead, "begin", .readingLast),
        Row(.newLast, .body, "drop", .newLast),
        Row(.newLast, .end, "drop", .newLast),
        Row(.newLast, .answerBegan, "announceClose", .newLast),
        Row(.newLast, .answerCompleted, "nothing", .newLast),
        Row(.newLast, .answerUnread, "nothing", .newLast),
        Row(.newLast, .roomMade, "nothing", .newLast),
        Row(.newLast, .inputEnded, "close", .closed),
        Row(.newLast, .drain, "waitForFirstRequest", .newLast),
        Row(.newLast, .drainAfterWait, "close", .closed),
        Row(.newLast, .parsingFailed, "refuse", .readingLast),
        Row(.newLast, .hangUp, "()", .closed),

        Row(.idle, .head, "begin", .reading),
        Row(.idle, .lastHead, "begin", .readingLast),
        Row(.idle, .body, "drop", .idle),
        Row(.idle, .end, "drop", .idle),
        Row(.idle, .answerBegan, "nothing", .idle),
        Row(.idle, .answerCompleted, "nothing", .idle),
        Row(.idle, .answerUnread, "nothing", .idle),
        Row(.idle, .roomMade, "nothing", .idle),
        Row(.idle, .inputEnded, "close", .closed),
        Row(.idle, .drain, "close", .closed),
        Row(.idle, .drainAfterWait, "close", .closed),
        Row(.idle, .parsingFailed, "refuse", .readingLast),
        Row(.idle, .hangUp, "()", .closed),

        Row(.reading, .head, "hold", .reading),
        Row(.reading, .lastHead, "hold", .reading),
        Row(.reading, .body, "deliver", .reading),
        Row(.reading, .end, "deliver", .answering),
        Row(.reading, .answerBegan, "announceClose", .readingLast),
        Row(.reading, .answerCompleted, "closeInStages", .closed),
        Row(.reading, .answerUnread, "closeInStages", .closed),
        Row(.reading, .roomMade, "nothing", .reading),
        Row(.reading, .inputEnded, "breakOff", .readingLast),
        Row(.reading, .drain, "nothing", .readingLast),
        Row(.reading, .drainAfterWait, "nothing", .readingLast),
        Row(.reading, .parsingFailed, "breakOff", .readingLast),
        Row(.reading, .hangUp, "()", .closed),

        Row(.readingLast, .head, "drop", .readingLast),
        Row(.readingLast, .lastHead, "drop", .readingLast),
        Row(.readingLast, .body, "deliver", .readingLast),
        Row(.readingLast, .end, "deliver", .answeringLast),
        Row(.readingLast, .answerBegan, "announceClose", .readingLast),
        Row(.readingLast, .answerCompleted, "closeInStages", .closed),
        Row(.readingLast, .answerUnread, "closeInStages", .closed),
        Row(.readingLast, .roomMade, "nothing", .readingLast),
        Row(.readingLast, .inputEnded, "nothing", .readingLast),
        Row(.readingLast, .drain, "nothing", .readingLast),
        Row(.readingLast, .drainAfterWait, "nothing", .readingLast),
        Row(.readingLast, .parsingFailed, "breakOff", .readingLast),
        Row(.readingLast, .hangUp, "()", .closed),

        Row(.answering, .head, "hold", .answering),
        Row(.answering, .lastHead, "hold", .answering),
        Row(.answering, .body, "hold", .answering),
        Row(.answering, .end, "hold", .answering),
        Row(.answering, .answerBegan, "nothing", .answering),
        Row(.answering, .answerCompleted, "goOn", .idle),
        Row(.answering, .answerUnread, "waitForRoom", .unread),
        Row(.answering, .roomMade, "nothing", .answering),
        Row(.answering, .inputEnded, "hold", .answering),
        Row(.answering, .drain, "nothing", .answeringLast),
        Row(.answering, .drainAfterWait, "nothing", .answeringLast),
        Row(.answering, .parsingFailed, "hold", .answering),
        Row(.answering, .hangUp, "()", .closed),

        Row(.answeringLast, .head, "drop", .answeringLast),
        Row(.answeringLast, .lastHead, "drop", .answeringLast),
        Row(.answeringLast, .body, "drop", .answeringLast),
        Row(.answeringLast, .end, "drop", .answeringLast),
        Row(.answeringLast, .answerBegan, "announceClose", .answeringLast),
        Row(.answeringLast, .answerCompleted, "close", .closed),
        Row(.answeringLast, .answerUnread, "close", .closed),
        Row(.answeringLast, .roomMade, "nothing", .answeringLast),
        Row(.answeringLast, .inputEnded, "nothing", .answeringLast),
        Row(.answeringLast, .drain, "nothing", .answeringLast),
        Row(.answeringLast, .drainAfterWait, "nothing", .answeringLast),
        Row(.answeringLast, .parsingFailed, "nothing", .answeringLast),
        Row(.answeringLast, .hangUp, "()", .closed),

        Row(.unread, .head, "hold", .unread),
        Row(.unread, .lastHead, "hold", .unread),
        Row(.unread, .body, "hold", .unread),
        Row(.unread, .end, "hold", .unread),
        Row(.unread, .answerBegan, "nothing", .unread),
        Row(.unread, .answerCompleted, "nothing", .unread),
        Row(.unread, .answerUnread, "nothing", .unread),
        Row(.unread, .roomMade, "goOn", .idle),
        Row(.unread, .inputEnded, "hold", .unread),
        Row(.unread, .drain, "close", .closed),
        Row(.unread, .drainAfterWait, "close", .closed),
        Row(.unread, .parsingFailed, "hold", .unread),
        Row(.unread, .hangUp, "()", .closed),

        Row(.closed, .head, "drop", .closed),
        Row(.closed, .lastHead, "drop", .closed),
        Row(.closed, .body, "drop", .closed),
        Row(.closed, .end, "drop", .closed),
        Row(.closed, .answerBegan, "announceClose", .closed),
        Row(.closed, .answerCompleted, "nothing", .closed),
        Row(.closed, .answerUnread, "nothing", .closed),
        Row(.closed, .roomMade, "nothing", .closed),
        Row(.closed, .inputEnded, "nothing", .closed),
        Row(.closed, .drain, "nothing", .closed),
        Row(.closed, .drainAfterWait, "nothing", .closed),
        Row(.closed, .parsingFailed, "nothing", .closed),
        Row(.closed, .hangUp, "()", .closed),
    ]

    @Test("Each event in each state has the action of the table")
    func everyPair() {
        for row in Self.table {
            var machine = row.start.machine
            let action = row.event.happen(to: &machine)
            #expect(action == row.action, "\(row.start), \(row.event)")
            #expect(Start(machine) == row.next, "\(row.start), \(row.event)")
        }
    }

    @Test("The table has every pair of a state and an event, once")
    func completeness() {
        let pairs = Self.table.map { "\($0.start) \($0.event)" }
        let all = Start.allCases.flatMap { start in Event.allCases.map { "\(start) \($0)" } }
        #expect(Set(pairs) == Set(all))
        #expect(pairs.count == all.count)
        for start in Start.allCases { #expect(Start(start.machine) == start) }
    }

    @Test("An answer that came without a head before its request's end still ends the connection")
    func unannouncedAnswer() {
        var machine = Start.reading.machine
        #expect(machine.answerCompleted(hasRoom: true) == .closeInStages)
        #expect(machine.state == .closed)
    }

    /// Keeps the documented invariants by what it saw, not by what the machine remembers.
    struct Observer {
        private var hasBegun = false
        private var isOpen = false
        private var hasRoom = true
        private var isWhole = false
        private var isAnnounced = false
        private var isClosed = false

        mutating func saw(_ event: Event, _ action: String) {
            if isClosed { #expect(["drop", "nothing", "()", "announceClose"].contains(action)) }
            switch action {
            case "begin", "refuse":
                #expect(!isOpen, "one exchange at a time")
                #expect(hasRoom, "none begins before the client has read")
                #expect(!isAnnounced || !hasBegun, "none follows the last one")
                hasBegun = true
                (isOpen, isWhole) = (true, false)
                if event != .head { isAnnounced = true }
            case "deliver":
                #expect(isOpen && !isWhole, "parts go to their own request")
                if event == .end { isWhole = true }
            case "hold":
                #expect(isOpen || !hasRoom, "nothing is held while nothing is answered or unread")
                if event != .head, event != .lastHead, hasRoom {
                    #expect(isWhole, "a part of the present request is not held")
                }
            case "announceClose": isAnnounced = true
            case "goOn" where event == .roomMade:
                #expect(!isOpen && !hasRoom && !isAnnounced)
                hasRoom = true
            case "goOn", "waitForRoom":
                #expect(isOpen && isWhole && !isAnnounced)
                (isOpen, hasRoom) = (false, action == "goOn")
            case "close":
                #expect(!isOpen || isWhole)
                (isOpen, isClosed) = (false, true)
            case "closeInStages":
                #expect(isOpen && !isWhole)
                (isOpen, isClosed) = (false, true)
            case "breakOff":
                #expect(isOpen && !isWhole)
                isAnnounced = true
            default:
                if event == .hangUp { isClosed = true }
                if event == .drain { isAnnounced = true }
            }
        }
    }

    @Test("Random events keep the invariants", arguments: 0..<200 as Range<UInt64>)
    func randomSequences(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = ConnectionMachine()
        var observer = Observer()
        for _ in 0..<60 {
            // Ends of the connection come seldom, or there would be little before them.
            let events: [Event] =
                Int.random(in: 0..<40, using: &random) == 0
                ? [.lastHead, .drain, .drainAfterWait, .parsingFailed, .inputEnded, .hangUp]
                : [.head, .body, .end, .answerBegan, .answerCompleted, .answerUnread, .roomMade]
            guard let event = events.randomElement(using: &random) else { return }
            observer.saw(event, event.happen(to: &machine))
            machine.checkInvariants()
        }
    }
}
