/// A change in the overlay.
struct PlaceChange: Equatable {
    var accept: PlaceNumber = 0
    var confirmed: PlaceNumber = 0
    /// From this number on it does not show; 0 while it does.
    var end: PlaceNumber = 0
}

/// What the overlay knows of a claim.
struct PlaceClaimed: Equatable {
    var isClaimed = false
    /// The number with which the claim went, kept for readers below it.
    var gone: PlaceNumber = 0
    /// From which `written` on a row counts (rule 5); 0 for every one.
    var mark: PlaceNumber = 0
    /// Whether the row of the mark is still to be put.
    var isToPut = false
    /// The last number of the group that put it again.
    var put: PlaceNumber = 0
}

/// What the writer keeps in memory of claimed ids and their changes.
struct PlaceOverlay: Equatable {
    var changes = PlacePair(PlaceChange())
    var claims = PlacePair(PlaceClaimed())

    /// Whether the change shows to a number, on a row or on a miss.
    func shows(_ modifier: Int, at number: PlaceNumber, onMiss: Bool, _ rules: PlaceRules) -> Bool {
        let change = changes[modifier]
        guard change.accept > 0 else { return false }
        if rules.holds(.showsFromItsAccept), change.accept > number { return false }
        if change.end > 0, number >= change.end { return false }
        if onMiss, rules.holds(.confirmedShowsOnNoMiss), change.confirmed > 0,
            number >= change.confirmed
        {
            return false
        }
        return true
    }
}

/// What every client sees after a step: the view of each id by the owner of the modifiers, and by
/// another user.
struct PlaceMoment: Equatable {
    var number: PlaceNumber
    var own = PlacePair(PlaceContent.absent)
    var other = PlacePair(PlaceContent.absent)
}

enum PlaceCommand: Equatable {
    case accept(Int)
    case settle(Int, PlaceOutcome)
    /// The step of the ten minutes.
    case expire(Int)
    /// The answer of the fetch.
    case news
    case put(Int)
    case pin(Int)
    case unpin(Int)
    /// Housekeeping: the claim goes.
    case release(Int)
    case evict(Int)
    /// Nothing but what rule 5 or 7 puts again.
    case again
}

enum PlaceOutcome: Equatable {
    case answered
    case confirmed
    case refused
}

/// What is seen, by the order of the commands alone: the model's own account, which knows no file.
struct PlaceAccount: Equatable {
    var words = PlacePair(PlaceContent.absent)
    var changes = PlacePair(PlaceModifier())
    var fences = PlacePair<PlaceNumber>(0)

    func moment(_ number: PlaceNumber, _ world: PlaceWorld) -> PlaceMoment {
        var moment = PlaceMoment(number: number)
        for id in 0..<world.ids {
            moment.other[id] = world.isShared ? words[id] : .absent
            var view = words[id]
            for modifier in 0..<2 where world.targets[modifier] & (1 << UInt8(id)) != 0 {
                guard changes[modifier].accept > 0 else { continue }
                if view.isAbsent, changes[modifier].confirmed > 0 { continue }
                view = (view.isAbsent ? .unknown : view).adding(modifier)
            }
            moment.own[id] = view
        }
        return moment
    }

    /// What a command changed, on top of this.
    mutating func take(from old: Self, to new: Self) {
        for index in 0..<2 {
            if old.words[index] != new.words[index] { words[index] = new.words[index] }
            if old.changes[index] != new.changes[index] { changes[index] = new.changes[index] }
            if old.fences[index] != new.fences[index] { fences[index] = new.fences[index] }
        }
    }
}

/// What waited and is written at once.
struct PlaceGroup: Equatable {
    enum Operation: UInt8 {
        case state
        case overlay
        case cache
        case publish
    }

    /// How many of its operations are done.
    var done: UInt8 = 0
    var durable: PlaceDurable
    var cache: PlaceCache
    var overlay: PlaceOverlay
    var fences: PlacePair<PlaceNumber>
    var last: PlaceNumber
    var writesCache = false
    /// The rows that it puts again, a bit for each id.
    var putsAgain: UInt8 = 0
    var steps: [PlaceStep] = []
    var isSeen = false
    /// The account before it.
    var before: PlaceAccount

    var writesState: Bool { steps.contains { $0.writesState } }
}

/// A command of a group, run.
struct PlaceStep: Equatable {
    let command: PlaceCommand
    let number: PlaceNumber
    var writesState = false
    /// The rows that it wrote, a bit for each id.
    var rows: UInt8 = 0
    /// The rows that it took out of `cache.db`.
    var removed: UInt8 = 0
    var account: PlaceAccount
}

/// An event loop with its transactions.
struct PlaceReader: Equatable {
    enum Phase: UInt8 {
        case idle
        case numbered
        case rows
        /// It asks `state.db`.
        case saved
    }

    var phase = Phase.idle
    var hasTransaction = false
    var number: PlaceNumber = 0
    var snapshot = PlacePair(PlaceRow())
    /// The ids that it reads, a bit each.
    var wanted: UInt8 = 0
    /// What was told before the read began.
    var told: PlaceNumber = 0
    /// The earliest number that what it has shown can be of.
    var seen: PlaceNumber = 0
    /// What it showed last of each.
    var shown = PlacePair(PlaceRow())
    /// The overlay as it was before the row, where the rule is out.
    var early: PlaceOverlay?
}

/// A GET on the way.
struct PlaceFetch: Equatable {
    enum Phase: UInt8 {
        case none
        case away
        case arrived
    }

    var phase = Phase.none
    var id: UInt8 = 0
    var setOut: PlaceNumber = 0
    var content = PlaceContent.absent
    /// Whether the fence had been passed when it arrived, where the rule is out.
    var passed = false
}

/// What a client was told of its modifier.
enum PlaceTold: UInt8 {
    case nothing
    case accepted
    case refused
    case settled
}
