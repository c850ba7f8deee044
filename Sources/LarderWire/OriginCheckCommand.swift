import LarderJSON

/// What `POST /v1/origins/{name}/check` asks for: where, if not at the base URL.
package struct OriginCheckCommand: Equatable, Sendable {
    package var path: String?

    package init(path: String? = nil) {
        self.path = path
    }

    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            if let path { json.member("path", path) }
        }
        return json.bytes
    }

    /// Reads the body, which may be missing.
    package init(json: [UInt8]) throws(Problem) {
        guard !json.isEmpty else { return }
        var members = try CommandMembers(json, of: ["path"])
        path = try members.takeString("path")
    }
}
