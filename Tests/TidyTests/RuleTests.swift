import Testing

@Suite("The rules")
struct RuleTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let rule: Rule
        let path: String
        let good: String
        let bad: String
        /// The line of the finding in `bad`.
        var line = 1

        var testDescription: String { rule.name }
    }

    static let examples = [
        Example(
            rule: .fileLength,
            path: "Sources/LarderModel/A.swift",
            good: String(repeating: "\n", count: 500),
            bad: String(repeating: "\n", count: 501),
            line: 501
        ),
        Example(
            rule: .fileLength,
            path: "Tests/LarderModelTests/A.swift",
            good: String(repeating: "\n", count: 600),
            bad: String(repeating: "\n", count: 601),
            line: 601
        ),
        Example(
            rule: .functionLength,
            path: "Sources/LarderModel/A.swift",
            good: "// func a() {\nfunc a() {\(String(repeating: "\n", count: 69))}\n",
            bad: "// func a() {\nfunc a() {\(String(repeating: "\n", count: 70))}\n",
            line: 2
        ),
        Example(
            rule: .noSleepInTests,
            path: "Tests/LarderModelTests/A.swift",
            good: "await clock.sleep(until: x)\nfunc sleep(until: X) {}",
            bad: "try await Task.sleep(for: .seconds(1))"
        ),
        Example(
            rule: .noSleepInTests,
            path: "Tests/LarderModelTests/A.swift",
            good: "let sleeper = 1  // sleep(1)",
            bad: "sleep(1)"
        ),
        Example(
            rule: .namedColumns,
            path: "Sources/LarderStore/A.swift",
            good: #"let sql = "SELECT a FROM b WHERE c = :c""#,
            bad: #"let sql = "SELECT a FROM b WHERE c = ?1""#
        ),
        Example(
            rule: .noClock,
            path: "Sources/LarderStore/A.swift",
            good: "let now = clock.now  // no Date()",
            bad: "let now = Date()"
        ),
        Example(
            rule: .noClock,
            path: "Sources/LarderStore/A.swift",
            good: "clock.sleep(for: time)",
            bad: "let now = ContinuousClock.now"
        ),
        Example(
            rule: .noChance,
            path: "Sources/LarderStore/A.swift",
            good: "Int.random(in: 0..<9, using: &generator)",
            bad: "Int.random(in: 0..<9)"
        ),
        Example(
            rule: .noPrint,
            path: "Sources/LarderStore/A.swift",
            good: "x.print(y)\nfunc print(_ x: Int)\nreprint(z)\nlet a = \"print(b)\"",
            bad: "print(x)"
        ),
        Example(
            rule: .importsOfNIO,
            path: "Sources/LarderStore/A.swift",
            good: "// import NIOCore",
            bad: "package import NIOCore"
        ),
        Example(
            rule: .importsOfSQLite,
            path: "Sources/LarderEngine/A.swift",
            good: "import LarderStore",
            bad: "import CSQLite"
        ),
        Example(
            rule: .importsOfHTTPClient,
            path: "Sources/LarderServer/A.swift",
            good: "import NIOHTTP1",
            bad: "@preconcurrency import AsyncHTTPClient"
        ),
        Example(
            rule: .oneWayImports,
            path: "Sources/LarderStore/A.swift",
            good: "package import LarderModel",
            bad: "import LarderEngine"
        ),
        Example(
            rule: .oneWayImports,
            path: "Sources/LarderModel/A.swift",
            good: "import Glibc",
            bad: "import struct LarderJSON.Token\nimport LarderJSON",
            line: 2
        ),
        Example(
            rule: .uncheckedWithReason,
            path: "Sources/LarderStore/A.swift",
            good: "// It is owned by one thread.\n@frozen\nstruct A: @unchecked Sendable {}",
            bad: "// It is owned by one thread.\n\nstruct A: @unchecked Sendable {}",
            line: 3
        ),
        Example(
            rule: .uncheckedWithReason,
            path: "Tests/LarderStoreTests/A.swift",
            good: "// Set once, before any thread.\nnonisolated(unsafe) var a = 1",
            bad: "nonisolated(unsafe) var a = 1"
        ),
        Example(
            rule: .noReminders,
            path: "scripts/a",
            good: "mktemp -d /tmp/a.XXXXXX",
            bad: "# " + "TO" + "DO: later"
        ),
        Example(
            rule: .machines,
            path: "Sources/LarderStrategy/Machine.swift",
            good: "",
            bad: ""
        ),
        Example(
            rule: .noForeignPaths,
            path: "README.md",
            good: "a shared network",
            bad: "see .." + "/shared/x"
        ),
    ]

    @Test(
        "A rule passes over a good file and finds the line of a bad one",
        arguments: examples.filter { $0.rule.name != Rule.machines.name }
    )
    func example(example: Example) {
        let good = SourceFile(path: example.path, text: example.good)
        let bad = SourceFile(path: example.path, text: example.bad)
        #expect(example.rule.findings(good, []) == [])
        #expect(example.rule.findings(bad, []).map(\.line) == [example.line])
    }

    @Test("A machine without its invariants or its tests is found")
    func machines() {
        let path = "Sources/LarderStrategy/FetchMachine.swift"
        let check = "extension FetchMachine {\n    func checkInvariants() {}\n}"
        let invariants = "Sources/LarderStrategy/FetchMachine+Invariants.swift"
        let tests = "Tests/LarderStrategyTests/FetchMachineTests.swift"
        func messages(_ paths: Set<String>, _ text: String = "") -> [String] {
            Rule.machines.findings(SourceFile(path: path, text: text), paths).map(\.message)
        }
        #expect(messages([path, invariants, tests]) == [])
        #expect(messages([path, tests], check) == [])
        #expect(messages([path, tests]) == ["there is no checkInvariants() of FetchMachine"])
        #expect(messages([path, invariants]) == ["there is no FetchMachineTests.swift"])
    }

    @Test("A target without a layer is found")
    func unknownTarget() {
        let file = SourceFile(path: "Sources/LarderOther/A.swift", text: "")
        #expect(Rule.oneWayImports.findings(file, []).count == 1)
    }

    @Test("Every rule has an example", arguments: Rule.all)
    func everyRule(rule: Rule) {
        #expect(Self.examples.contains { $0.rule.name == rule.name })
    }

    @Test("No two rules have one name")
    func names() {
        #expect(Set(Rule.all.map(\.name)).count == Rule.all.count)
    }
}
