import LarderJSON

/// What `POST /v1/check` answers: what the daemon found when it looked at itself.
package struct CheckReport: Equatable, Sendable {
    package var findings: [Finding]

    /// One thing that was looked at.
    package struct Finding: Equatable, Sendable {
        /// Such as `cache.db`.
        package var subject: String
        package var state: State
        /// One sentence.
        package var detail: String
        /// What to do; nil where nothing has to be done.
        package var fix: String?

        package init(_ subject: String, _ state: State, _ detail: String, fix: String? = nil) {
            self.subject = subject
            self.state = state
            self.detail = detail
            self.fix = fix
        }
    }

    package enum State: String, Sendable {
        case ok
        /// It works, and somebody should look at it.
        case warning
        /// It does not work, or not safely.
        case failed
        /// It was not looked at, or not to its end.
        case skipped
    }

    package init(findings: [Finding]) {
        self.findings = findings
    }
}

extension CheckReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.name("findings")
            json.beginArray()
            for finding in findings { json.object { finding.write(to: &$0) } }
            json.endArray()
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        findings = []
        for finding in try WireObject(parsing: bytes).objects("findings") {
            findings.append(try Finding(finding))
        }
    }
}

extension CheckReport.Finding {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }

    init(_ object: WireObject) throws(WireError) {
        self.init(
            try object.string("subject"),
            try object.required("state") { CheckReport.State(rawValue: $0) },
            try object.string("detail"),
            fix: try object.optionalString("fix")
        )
    }

    func write(to json: inout JSONWriter) {
        json.member("subject", subject)
        json.member("state", state.rawValue)
        json.member("detail", detail)
        json.member("fix", fix)
    }
}
