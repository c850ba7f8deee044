#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Where things are when nobody says where: systemd's directories, else root's or the user's own.
///
/// `LARDER_CONFIG` names another configuration file, which need not be there. Sources:
/// systemd.exec(5), `StateDirectory=`; the XDG Base Directory Specification, which has a relative
/// path in a variable ignored.
package struct StandardPlaces: Equatable, Sendable {
    package var configurationFile: String
    package var apiSocket: String
    package var cacheDirectory: String
    package var stateDirectory: String

    /// Looks at the file system only for whether `/run/user/UID` is there.
    package init(environment: [String: String], uid: UInt32, home: String) {
        func absolute(_ variable: String) -> String? {
            environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        func systemd(_ variable: String) -> String? {
            absolute(variable).map { String($0.prefix(while: { $0 != ":" })) }
        }
        let state: String
        let cache: String
        if uid == 0 {
            configurationFile = "/etc/larder/larder.yaml"
            apiSocket = "/run/larder/api.sock"
            state = "/var/lib/larder"
            cache = "/var/cache/larder"
        } else {
            let folder = absolute("XDG_CONFIG_HOME") ?? "\(home)/.config"
            configurationFile = "\(folder)/larder/larder.yaml"
            state = (absolute("XDG_STATE_HOME") ?? "\(home)/.local/state") + "/larder"
            cache = (absolute("XDG_CACHE_HOME") ?? "\(home)/.cache") + "/larder"
            let runtime = absolute("XDG_RUNTIME_DIR") ?? Self.runtimeDirectory(of: uid)
            // Not /tmp: anybody could have made the folder there first.
            apiSocket = (runtime.map { "\($0)/larder" } ?? cache) + "/api.sock"
        }
        if let named = absolute("LARDER_CONFIG") { configurationFile = named }
        stateDirectory = systemd("STATE_DIRECTORY") ?? state
        cacheDirectory = systemd("CACHE_DIRECTORY") ?? cache
    }

    private static func runtimeDirectory(of uid: UInt32) -> String? {
        let path = "/run/user/\(uid)"
        return access(path, W_OK | X_OK) == 0 ? path : nil
    }
}
