import LarderModel
import Testing

@testable import LarderConfiguration

@Suite("Standard places")
struct PlacesTests {
    @Test("Root's places are the system's")
    func root() {
        let places = DefaultPaths(
            environment: ["XDG_CACHE_HOME": "/x", "XDG_RUNTIME_DIR": "/y"],
            uid: 0,
            home: "/root"
        )
        #expect(places.configurationFile == "/etc/larder/larder.yaml")
        #expect(places.apiSocket == "/run/larder/api.sock")
        #expect(places.cacheDirectory == "/var/cache/larder")
        #expect(places.stateDirectory == "/var/lib/larder")
    }

    @Test("A user's places are the XDG folders")
    func user() {
        let places = DefaultPaths(
            environment: [
                "XDG_CONFIG_HOME": "/x/config", "XDG_CACHE_HOME": "/x/cache",
                "XDG_STATE_HOME": "/x/state", "XDG_RUNTIME_DIR": "/x/run",
            ],
            uid: 1_000,
            home: "/home/u"
        )
        #expect(places.configurationFile == "/x/config/larder/larder.yaml")
        #expect(places.apiSocket == "/x/run/larder/api.sock")
        #expect(places.cacheDirectory == "/x/cache/larder")
        #expect(places.stateDirectory == "/x/state/larder")
    }

    @Test("Without the XDG variables, or with relative ones, the usual folders are used")
    func fallbacks() {
        let places = DefaultPaths(
            environment: ["XDG_CACHE_HOME": "relative", "XDG_RUNTIME_DIR": ""],
            uid: 4_000_000_000,
            home: "/home/u"
        )
        #expect(places.configurationFile == "/home/u/.config/larder/larder.yaml")
        #expect(places.apiSocket == "/home/u/.cache/larder/api.sock")
        #expect(places.cacheDirectory == "/home/u/.cache/larder")
        #expect(places.stateDirectory == "/home/u/.local/state/larder")
    }

    @Test("The folders that systemd made come before them", arguments: [0, 1_000] as [UInt32])
    func systemd(uid: UInt32) {
        let places = DefaultPaths(
            environment: ["STATE_DIRECTORY": "/s/larder", "CACHE_DIRECTORY": "/c/larder:/c/b"],
            uid: uid,
            home: "/home/u"
        )
        #expect(places.cacheDirectory == "/c/larder")
        #expect(places.stateDirectory == "/s/larder")
    }

    @Test("The file that is named must be there, the one at the standard place need not")
    func missing() throws {
        let environment = ["XDG_CONFIG_HOME": "/nowhere", "XDG_RUNTIME_DIR": "/r"]
        let read = try Configuration.load(
            file: nil,
            environment: environment,
            uid: 7,
            home: "/home/u"
        )
        let places = DefaultPaths(environment: environment, uid: 7, home: "/home/u")
        #expect(read == Configuration(places: places))
        #expect(
            throws: ConfigurationError.unreadable(
                file: "/nowhere/x.yaml",
                reason: "there is no such file"
            )
        ) {
            try Configuration.load(
                file: "/nowhere/x.yaml",
                environment: [:],
                uid: 7,
                home: "/home/u"
            )
        }
    }

    @Test("A file is read from where it is named")
    func named() throws {
        let read = try Configuration.load(
            file: treeRoot() + "/config/larder.yaml",
            environment: [:],
            uid: 7,
            home: "/home/u"
        )
        #expect(read.storage.stateDirectory == "/var/lib/larder")
    }

    @Test("A folder in a file's place cannot be read")
    func folder() {
        #expect(
            throws: ConfigurationError.unreadable(file: "/usr", reason: "Is a directory")
        ) {
            try Configuration.load(file: "/usr", environment: [:], uid: 7, home: "/home/u")
        }
    }

    @Test("A home that is no absolute path is told for the places that were made of it")
    func badHome() {
        #expect {
            try Configuration.load(
                file: nil,
                environment: ["XDG_RUNTIME_DIR": "/r"],
                uid: 7,
                home: "home"
            )
        } throws: { error in
            "\(error)" == """
                default of storage.cache_directory: 'home/.cache/larder' is not an absolute path
                default of storage.state_directory: 'home/.local/state/larder' is not an absolute path
                """
        }
    }
}
