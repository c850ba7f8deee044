import Glibc
import Testing

/// The rules by which a row lives in one file, checked in every order of events within small bounds.
@Suite("Residency model")
struct ResidencyModelTests {
    @Test("A world in which all rules hold has no fault", arguments: NamedResidencyWorld.all)
    func holds(_ world: NamedResidencyWorld) {
        let exploration = ResidencyExploration(world.world)
        #expect(exploration.stateCount > 100)
        #expect(exploration.fault == nil, "\(exploration.fault ?? "")")
    }

    @Test("A world without one rule has a fault", arguments: ResidencyRule.allCases)
    func isNeeded(_ rule: ResidencyRule) {
        let exploration = ResidencyExploration(rule.shownIn.without(rule))
        #expect(exploration.fault != nil, "nothing fails without \(rule) in \(rule.shownIn)")
    }

    @Test(
        "A larger world in which all rules hold has no fault",
        .enabled(if: getenv("LARDER_SEEDS") != nil),
        arguments: NamedResidencyWorld.large
    )
    func holdsLarge(_ world: NamedResidencyWorld) {
        let exploration = ResidencyExploration(world.world)
        #expect(exploration.fault == nil, "\(exploration.fault ?? "")")
    }
}
