extension Configuration {
    /// The keys, origins aside, that have other values than in `old`: those that can be put in force
    /// while the daemon runs, and those that need a restart.
    package func changes(
        from old: Configuration
    ) -> (taken: [ConfigurationKey], needingRestart: [ConfigurationKey]) {
        let changed = ConfigurationKey.allCases.filter { text(of: $0) != old.text(of: $0) }
        return (changed.filter { !$0.needsRestart }, changed.filter(\.needsRestart))
    }

    /// The same, where what needs a restart is as in the configuration that is in force.
    package func inForce(after old: Configuration) -> Configuration {
        var new = self
        for key in changes(from: old).needingRestart {
            let setting = Setting(text: old.text(of: key), place: .standard(key))
            do throws(ConfigurationFinding) {
                try new.set(key, to: setting)
            } catch {
                preconditionFailure("\(key.rawValue) is not read as it was before: \(error)")
            }
        }
        return new
    }
}
