extension Rule {
    static let all = [
        fileLength, functionLength, noSleepInTests, noClock, noChance, noPrint, importsOfNIO,
        importsOfSQLite, importsOfHTTPClient, oneWayImports, uncheckedWithReason, noReminders,
        machines, noForeignPaths, namedColumns,
    ]

    static let fileLength = Rule("A file ends at 500 lines, a test at 600") { file, _ in
        let most = file.isTest ? 600 : 500
        guard file.isSwift, file.lines.count > most + 1 else { return [] }
        let message = "\(file.lines.count - 1) lines, at most \(most)"
        return [Finding(path: file.path, line: most + 1, message: message)]
    }

    static let functionLength = Rule("A function stays within 70 lines") { file, _ in
        guard file.isSwift else { return [] }
        return functions(in: file.code).filter { $0.lineCount > 70 }.map {
            Finding(path: file.path, line: $0.line, message: "\($0.lineCount) lines, at most 70")
        }
    }

    static let noSleepInTests = Rule("No test sleeps", in: \.isTest) { line in
        let words = ["Task.sleep(", "Thread.sleep(", "Clock().sleep(", "usleep(", "nanosleep("]
        guard words.contains(where: line.contains) || calls("sleep", in: line) else { return nil }
        return "a test waits for the event, it does not sleep"
    }

    static let noClock = Rule("Time is an input below the shell", in: \.isSource) { line in
        let clocks = [
            "Date()", "Date.now", "ContinuousClock.now", "ContinuousClock().now",
            "SuspendingClock.now", "SuspendingClock().now", "NIODeadline.now(",
            "DispatchTime.now(", "DispatchWallTime.now(", "clock_gettime(", "gettimeofday(",
            "time(nil)", "Task.sleep(",
        ]
        return clocks.first(where: line.contains).map { "\($0) below the shell; take it as input" }
    }

    static let noChance = Rule("Chance is an input below the shell", in: \.isSource) { line in
        let sources = ["SystemRandomNumberGenerator", "UUID()", "arc4random", "getrandom("]
        let draws = [".random(in:", ".randomElement(", ".shuffled(", ".shuffle(", ".random("]
        let source =
            sources.first(where: line.contains)
            ?? (line.contains("using:") ? nil : draws.first(where: line.contains))
        return source.map { "\($0) below the shell; take a generator as input" }
    }

    static let noPrint = Rule(
        "Only cachectl prints",
        in: { $0.isSource && $0.target != "cachectl" },
        line: { line in
            ["print", "debugPrint", "dump"].contains { calls($0, in: line) }
                ? "only cachectl writes to stdout; log it or return it" : nil
        }
    )

    static let importsOfNIO = Rule("SwiftNIO stays at the edges") { file, _ in
        imports(
            ofModulesFrom: "NIO",
            in: file,
            allowed: ["LarderUpstream", "LarderServer", "LarderClient"]
        )
    }

    static let importsOfSQLite = Rule("SQLite stays in the store") { file, _ in
        imports(ofModulesFrom: "CSQLite", in: file, allowed: ["LarderStore"])
    }

    static let importsOfHTTPClient = Rule("The HTTP client stays at the edges") { file, _ in
        imports(
            ofModulesFrom: "AsyncHTTPClient",
            in: file,
            allowed: ["LarderUpstream", "LarderClient"]
        )
    }

    static let oneWayImports = Rule("Imports go one way") { file, _ in
        guard file.isSource else { return [] }
        guard let allowed = layers[file.target] else {
            let message = "the target '\(file.target)' has no layer; add it to the table"
            return [Finding(path: file.path, line: 1, message: message)]
        }
        return file.imports.filter { $0.module.hasPrefix("Larder") && !allowed.contains($0.module) }
            .map {
                let message = "\(file.target) may not import \($0.module)"
                return Finding(path: file.path, line: $0.line, message: message)
            }
    }

    static let uncheckedWithReason = Rule("What is unchecked says why") { file, _ in
        guard file.isSwift else { return [] }
        return file.code.indices.compactMap { index in
            let marks = ["@unchecked Sendable", "nonisolated(unsafe)"]
            guard let mark = marks.first(where: file.code[index].contains),
                !hasComment(above: index, in: file.lines)
            else { return nil }
            let message = "\(mark) without a comment directly above that says why"
            return Finding(path: file.path, line: index + 1, message: message)
        }
    }

    static let namedColumns = Rule("Columns and parameters of SQL have names") { file, _ in
        guard file.isSource, file.target == "LarderStore", file.name != "SQLiteStatement" else {
            return []
        }
        return file.lines.enumerated().compactMap { index, line in
            let found = line.firstMatch(of: /\?[0-9]+|sqlite3_(?:column|bind)_\w+/)
            return found.map {
                Finding(path: file.path, line: index + 1, message: "\($0.output) goes by a number")
            }
        }
    }

    /// In halves, so that this file keeps the rule.
    private static let reminders = ["FIX" + "ME", "TO" + "DO", "XX" + "X"]

    static let noReminders = Rule("Nothing is put off in a comment") { file, _ in
        file.lines.enumerated().compactMap { index, line in
            let words = line.split(whereSeparator: { !$0.isLetter && !$0.isNumber })
            guard let word = reminders.first(where: { words.contains(Substring($0)) }) else {
                return nil
            }
            return Finding(path: file.path, line: index + 1, message: "\(word); do it or file it")
        }
    }

    static let machines = Rule("A machine has its invariants and its tests") { file, paths in
        guard file.isSource, file.path.hasSuffix("Machine.swift") else { return [] }
        let invariants = file.path.replacing(".swift", with: "+Invariants.swift")
        let hasInvariants =
            paths.contains(invariants)
            || file.code.contains { $0.contains("func checkInvariants()") }
        let hasTests = paths.contains {
            $0.hasPrefix("Tests/") && $0.hasSuffix("/\(file.name)Tests.swift")
        }
        return [
            hasInvariants ? nil : "there is no checkInvariants() of \(file.name)",
            hasTests ? nil : "there is no \(file.name)Tests.swift",
        ].compactMap { $0 }.map { Finding(path: file.path, line: 1, message: $0) }
    }

    /// In halves, so that this file keeps the rule.
    private static let foreignPaths = ["../" + "shared", "/" + "work/", "/tmp/" + "brief"]

    static let noForeignPaths = Rule("Nothing leans on one machine's folders") { file, _ in
        file.lines.enumerated().compactMap { index, line in
            foreignPaths.first(where: line.contains).map {
                Finding(path: file.path, line: index + 1, message: "'\($0)' is no part of this")
            }
        }
    }
}

/// What each target may import of ours: what stands above it in ARCHITECTURE.md.
private let layers: [String: Set<String>] = [
    "CSQLite": [],
    "CXXHash": [],
    "LarderModel": [],
    "LarderJSON": ["LarderModel"],
    "LarderAPI": ["LarderModel", "LarderJSON"],
    "LarderNormalize": ["LarderModel", "LarderJSON"],
    "LarderStrategy": ["LarderModel"],
    "LarderWire": ["LarderModel", "LarderJSON", "LarderAPI"],
    "LarderStore": ["LarderModel", "LarderNormalize"],
    "LarderUpstream": ["LarderModel"],
    "LarderEngine": [
        "LarderModel", "LarderJSON", "LarderAPI", "LarderNormalize", "LarderStrategy",
        "LarderWire", "LarderStore", "LarderUpstream",
    ],
    "LarderServer": [
        "LarderModel", "LarderJSON", "LarderAPI", "LarderWire", "LarderEngine", "LarderStore",
    ],
    "LarderClient": ["LarderModel", "LarderJSON", "LarderAPI", "LarderWire"],
    "LarderConfiguration": ["LarderModel", "LarderJSON", "LarderAPI", "LarderWire"],
    "LarderSystemd": [],
    "larderd": [
        "LarderModel", "LarderJSON", "LarderAPI", "LarderConfiguration", "LarderEngine",
        "LarderServer", "LarderStore", "LarderSystemd", "LarderUpstream", "LarderWire",
    ],
    "cachectl": [
        "LarderModel", "LarderJSON", "LarderAPI", "LarderWire", "LarderClient",
        "LarderConfiguration",
    ],
]

private func imports(
    ofModulesFrom prefix: String,
    in file: SourceFile,
    allowed: Set<String>
) -> [Rule.Finding] {
    guard file.isSource, !allowed.contains(file.target) else { return [] }
    return file.imports.filter { $0.module.hasPrefix(prefix) }.map {
        let message = "\($0.module) outside of \(allowed.sorted().joined(separator: ", "))"
        return Rule.Finding(path: file.path, line: $0.line, message: message)
    }
}

/// Whether the line calls a free function: its name stands alone, and neither after a dot nor in
/// its own declaration.
private func calls(_ name: String, in line: String) -> Bool {
    line.ranges(of: name + "(").contains { range in
        let before = line[..<range.lowerBound]
        let isWhole = before.last.map { !$0.isLetter && !$0.isNumber && $0 != "_" } ?? true
        return isWhole && before.last != "." && !before.hasSuffix("func ")
    }
}

/// Whether a comment stands directly above the line, attributes between them left out.
private func hasComment(above index: Int, in lines: [String]) -> Bool {
    for line in lines[..<index].reversed() {
        let text = line.drop(while: { $0 == " " })
        if text.hasPrefix("@") { continue }
        return text.hasPrefix("//")
    }
    return false
}
