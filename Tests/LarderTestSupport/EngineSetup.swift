package import LarderModel
package import LarderStore

/// What an ``EngineFixture`` is made of.
package struct EngineSetup {
    /// The one origin: `example` at https://api.example.com.
    package var origin: OriginSettings
    /// The store's configuration; its folders are the fixture's own.
    package var store = StoreConfiguration(cacheDirectory: "", stateDirectory: "")

    package init() throws {
        origin = OriginSettings(
            name: try OriginName("example"),
            baseURL: try WebURL("https://api.example.com")
        )
    }

    /// The default, but for what `change` makes of it.
    package static func with(_ change: (inout EngineSetup) throws -> Void) throws -> EngineSetup {
        var setup = try EngineSetup()
        try change(&setup)
        return setup
    }
}
