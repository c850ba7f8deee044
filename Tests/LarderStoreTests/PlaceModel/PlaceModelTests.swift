import LarderTestSupport
import Testing

/// The design of one row in one place, held against every order of events within small bounds.
@Suite("The model of one row in one place")
struct PlaceModelTests {
    @Test("All rules together leave no fault", arguments: NamedWorld.all)
    func holds(_ world: NamedWorld) {
        let exploration = PlaceExploration(world.world(.all))
        #expect(exploration.stateCount > 500)
        #expect(exploration.fault == nil, "\(exploration.fault ?? "")")
    }

    @Test("Without a rule there is a fault", arguments: PlaceRule.allCases)
    func isNeeded(_ rule: PlaceRule) {
        let world = rule.shownIn.world(.without(rule))
        let exploration = PlaceExploration(world)
        #expect(exploration.fault != nil, "\(rule) can go in \(rule.shownIn)")
    }

    /// In `scripts/soak` only: some take a minute.
    @Test(
        "All rules together leave no fault in wide worlds",
        .enabled(if: !SimulationSeeds.first(0).isEmpty),
        arguments: NamedWorld.wide
    )
    func holdsWidely(_ world: NamedWorld) {
        let exploration = PlaceExploration(world.world(.all), statesMax: 3_000_000)
        #expect(exploration.fault == nil, "\(exploration.fault ?? "")")
    }
}
