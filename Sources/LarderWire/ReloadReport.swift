import LarderJSON

/// What `POST /v1/reload` answers: what became of a configuration that was read again.
package struct ReloadReport: Equatable, Sendable {
    /// Whether the configuration is in force, but for what needs a restart; if not, nothing of it is.
    package var isTaken: Bool
    /// The absolute path of its file; nil where there is none and the defaults count.
    package var file: String?
    /// The keys that have changed and are in force, an origin as `origins.NAME`.
    package var taken: [String] = []
    /// The keys that have changed and count from the next start on.
    package var needsRestart: [String] = []
    /// Why it is refused, one sentence each.
    package var refused: [String] = []
    /// What is right and should be looked at, one sentence each.
    package var warnings: [String] = []

    package init(isTaken: Bool, file: String?) {
        self.isTaken = isTaken
        self.file = file
    }
}

extension ReloadReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("state", isTaken ? "taken" : "refused")
            json.member("file", file)
            json.member("taken", taken)
            json.member("needs_restart", needsRestart)
            json.member("refused", refused)
            json.member("warnings", warnings)
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        let state = try object.string("state")
        self.init(isTaken: state == "taken", file: try object.optionalString("file"))
        taken = try object.strings("taken")
        needsRestart = try object.strings("needs_restart")
        refused = try object.strings("refused")
        warnings = try object.strings("warnings")
    }
}
