/// A file, or a folder's files, that a rule does not hold for, and why.
struct Exemption: Sendable {
    let rule: Rule
    /// A path, or the beginning of one.
    let path: String
    let reason: String

    func covers(_ file: SourceFile, from rule: Rule) -> Bool {
        self.rule.name == rule.name && file.path.hasPrefix(path)
    }

    static let all = [
        Exemption(
            rule: .noClock,
            path: "Sources/LarderUpstream/HTTPUpstream.swift",
            reason: "The HTTP client takes its deadline on the event loop's own clock."
        ),
        Exemption(
            rule: .noChance,
            path: "Sources/LarderStore/Store.swift",
            reason: "The default of an input: a new file's key is drawn, and tests give theirs."
        ),
        Exemption(
            rule: .noClock,
            path: "Sources/LarderEngine/EngineClock.swift",
            reason: "The one clock that is injected everywhere else."
        ),
        Exemption(
            rule: .noClock,
            path: "Sources/LarderClient/ClientTime.swift",
            reason: "The default of an input of the library, which tests give theirs."
        ),
        Exemption(
            rule: .noChance,
            path: "Sources/LarderClient/ClientTime.swift",
            reason: "The default of an input of the library, which tests give theirs."
        ),
        Exemption(
            rule: .noClock,
            path: "Sources/larderd/",
            reason: "The shell: it makes the clock."
        ),
        Exemption(
            rule: .noClock,
            path: "Sources/cachectl/",
            reason: "The shell: it shows ages to a person."
        ),
        Exemption(
            rule: .noChance,
            path: "Sources/larderd/",
            reason: "The shell: it seeds the generator."
        ),
        Exemption(
            rule: .noPrint,
            path: "Sources/larderd/",
            reason: "--print-config and --check-config answer on stdout."
        ),
    ]
}
