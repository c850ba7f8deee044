import Testing

@Suite("The tree is tidy")
struct TidyTests {
    @Test("Every file keeps the rule", arguments: Rule.all)
    func rule(rule: Rule) {
        let findings = rule.findings(in: .own)
        #expect(
            findings.isEmpty,
            "\(findings.map(\.description).joined(separator: "\n"))"
        )
    }

    @Test("The tree was found")
    func tree() {
        #expect(Tree.own.paths.contains("Package.swift"))
        #expect(Tree.own.paths.contains("Tests/TidyTests/TidyTests.swift"))
    }

    @Test("Every exemption names something that is there", arguments: Exemption.all)
    func exemptions(exemption: Exemption) {
        #expect(Tree.own.paths.contains { $0.hasPrefix(exemption.path) }, "\(exemption.path)")
        #expect(exemption.reason.hasSuffix("."))
    }
}
