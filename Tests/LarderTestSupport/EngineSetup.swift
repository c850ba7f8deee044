package import LarderEngine
package import LarderModel
package import LarderStore

/// What an ``EngineFixture`` is made of.
package struct EngineSetup {
    /// The one origin: `example` at https://api.example.com.
    package var origin: OriginSettings
    /// Origins beside it.
    package var others: [OriginSettings] = []
    /// Whose public URLs are fetched without an origin that names them.
    package var owner: UInt32?
    /// Gives the line of a file.
    package var readFile = Credentials.readsNoFile
    /// The store's configuration; its folders are the fixture's own.
    package var store = StoreConfiguration(cacheDirectory: "", stateDirectory: "")

    package init() throws {
        store.reserveBytes = 0
        store.viewChange = TargetViews.change
        store.sentBases = .byValue
        origin = OriginSettings(
            name: try OriginName("example"),
            baseURL: try WebURL("https://api.example.com")
        )
    }

    var table: OriginTable {
        OriginTable(
            ([origin] + others).map { KnownOrigin($0, from: .file("larder.yaml")) },
            owner: owner
        )
    }

    /// The default, but for what `change` makes of it.
    package static func with(_ change: (inout EngineSetup) throws -> Void) throws -> EngineSetup {
        var setup = try EngineSetup()
        try change(&setup)
        return setup
    }
}

extension OriginTable {
    /// Origins of a configuration file, for a daemon that serves the whole system.
    package init(_ origins: [OriginSettings]) {
        self.init(origins.map { KnownOrigin($0, from: .file("")) })
    }
}
