import LarderJSON
import LarderModel

extension FetchCommand {
    /// The body of a POST that ``init(json:)`` reads back.
    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("url", url.text)
            if let policy { json.member("policy", policy.rawValue) }
            if let networkWait { json.member("network_wait", networkWait.unitText) }
            if let timeout { json.member("timeout", timeout.unitText) }
            if account != .default { json.member("account", account.text) }
            if let normalizes { json.member("normalize", normalizes) }
            if isPartial { json.member("partial", true) }
            if follows { json.member("follow", true) }
            if heartbeat != Limits.heartbeatTime { json.member("heartbeat", heartbeat.unitText) }
            guard !headers.fields.isEmpty else { return }
            json.member("headers") { json in
                for field in headers.fields { json.member(field.name, field.value) }
            }
        }
        return json.bytes
    }
}
