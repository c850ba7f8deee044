import Glibc
import LarderConfiguration
import LarderModel

/// Finds groups in whatever the system keeps them in (nsswitch.conf(5)).
enum GroupLookup {
    /// The number of a group given by its name or number; nil where no group has the name.
    ///
    /// A name is looked for first, as `id` and `chgrp` do.
    static func number(of group: String) -> UInt32? {
        find(group) ?? UInt32(group)
    }

    /// Warns if the configured group does not exist; it has no members then.
    static func warnings(_ access: Configuration.Access) -> [String] {
        let name = access.adminGroup
        guard name != Configuration.Access.standardAdminGroup, number(of: name) == nil else {
            return []
        }
        return [
            "access.admin_group: there is no group '\(name)', so that only root and the daemon's own "
                + "user administer; make it with: groupadd \(name)"
        ]
    }

    private static func find(_ name: String) -> UInt32? {
        var count = 4_096
        while count <= Limits.groupRecordBytesMax {
            var record = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let failure = withUnsafeTemporaryAllocation(of: CChar.self, capacity: count) { buffer in
                getgrnam_r(name, &record, buffer.baseAddress, buffer.count, &found)
            }
            guard failure == ERANGE else {
                return failure == 0 && found != nil ? record.gr_gid : nil
            }
            count *= 2
        }
        return nil
    }
}
