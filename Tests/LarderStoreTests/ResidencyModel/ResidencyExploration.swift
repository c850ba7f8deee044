/// Goes through every state that can be reached, the nearest first.
struct ResidencyExploration {
    private(set) var stateCount = 0
    /// How a fault is reached in the fewest events.
    private(set) var fault: String?

    private struct Origin {
        let parent: Int
        let event: ResidencyEvent
    }

    private var origins: [Origin] = []

    /// States are told apart by 64 bits of their hash: of a million two are alike once in thirty
    /// million runs.
    init(_ world: ResidencyWorld) {
        let start = ResidencyState(world)
        var seen: Set<Int> = [start.hashValue]
        var level = [(state: start, index: -1)]
        while !level.isEmpty, fault == nil {
            var next: [(state: ResidencyState, index: Int)] = []
            for (state, parent) in level where fault == nil {
                state.eachEvent { event in
                    guard fault == nil, let after = state.after(event),
                        seen.insert(after.hashValue).inserted
                    else { return }
                    origins.append(Origin(parent: parent, event: event))
                    next.append((after, origins.count - 1))
                    if let text = after.fault { fault = trace(to: origins.count - 1, text) }
                }
            }
            level = next
        }
        stateCount = origins.count + 1
    }

    private func trace(to index: Int, _ text: String) -> String {
        var events: [ResidencyEvent] = []
        var index = index
        while index >= 0 {
            events.append(origins[index].event)
            index = origins[index].parent
        }
        let lines = events.reversed().enumerated().map { "\($0 + 1). \($1)" }
        return (lines + [text]).joined(separator: "\n")
    }
}
