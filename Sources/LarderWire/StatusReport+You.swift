import LarderJSON
import LarderModel

extension StatusReport {
    /// How the daemon sees whoever asks, by the kernel's word.
    package struct You: Equatable, Sendable {
        package var uid: UInt32
        /// The groups that the client ran in when it connected, in order; the first
        /// ``Limits/toldGroupsMax`` of them.
        package var groups: [UInt32]
        package var isAdministrator: Bool

        package init(uid: UInt32, groups: [UInt32], isAdministrator: Bool) {
            self.uid = uid
            self.groups = groups
            self.isAdministrator = isAdministrator
        }
    }
}

extension StatusReport.You {
    func write(to json: inout JSONWriter) {
        json.member("uid", Int64(uid))
        json.name("groups")
        json.beginArray()
        for group in groups { json.integer(Int64(group)) }
        json.endArray()
        json.member("administrator", isAdministrator)
    }

    init(_ object: WireObject) throws(WireError) {
        uid = try object.integer("uid")
        groups = try object.integers("groups")
        isAdministrator = try object.bool("administrator")
    }
}
