import Testing

/// How the store keeps a row in one place, held against every order of events within small bounds.
@Suite("The model of one row in one place")
struct PlaceModelTests {
    @Test("All rules together leave no fault", arguments: NamedWorld.all)
    func holds(_ world: NamedWorld) {
        let exploration = PlaceExploration(world.world)
        #expect(exploration.stateCount > 300)
        #expect(exploration.fault == nil, "\(exploration.fault ?? "")")
    }

    @Test("Without a rule there is a fault", arguments: PlaceRule.allCases)
    func isNeeded(_ rule: PlaceRule) {
        let exploration = PlaceExploration(rule.shownIn.without(rule))
        #expect(exploration.fault != nil, "\(rule) can go in \(rule.shownIn)")
    }
}
