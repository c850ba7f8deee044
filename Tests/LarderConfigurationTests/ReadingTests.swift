import LarderModel
import Testing

@testable import LarderConfiguration

@Suite("Reading a configuration")
struct ReadingTests {
    @Test("A file that says nothing gives the defaults", arguments: ["", "# only this\n", "---\n"])
    func nothing(text: String) throws {
        #expect(try configuration(text) == Configuration(places: testPlaces))
    }

    @Test("A section whose lines are all comments is an empty one")
    func emptySections() throws {
        let read = try configuration("cache:\nlog: ~\norigins:\n")
        #expect(read == Configuration(places: testPlaces))
    }

    @Test("Every key of the file reaches its place")
    func everyKey() throws {
        let read = try configuration(
            """
            sockets: {api: /tmp/a.sock, mode: "0600"}
            storage: {cache_directory: /c, state_directory: "/with space"}
            cache: {max_bytes: 1GiB, max_entry_bytes: 2KiB, low_watermark: 1, min_free_bytes: 0B,
                    memory_bytes: 3MiB}
            pins: {max_bytes: 2GiB}
            queue: {max_modifiers: 5, max_bytes: 6MiB, history: 0, history_bytes: 7MiB}
            access: {admin_group: wheel, user_share: 0.25}
            log: {level: warning, format: json}
            """
        )
        var expected = Configuration(places: testPlaces)
        expected.sockets = .init(api: "/tmp/a.sock", mode: 0o600)
        expected.storage = .init(cacheDirectory: "/c", stateDirectory: "/with space")
        expected.cache.maxBytes = ByteSize(bytes: 1 << 30)
        expected.cache.maxEntryBytes = ByteSize(bytes: 2_048)
        expected.cache.lowWatermark = 1
        expected.cache.minFreeBytes = ByteSize(bytes: 0)
        expected.cache.memoryBytes = ByteSize(bytes: 3 << 20)
        expected.pins.maxBytes = ByteSize(bytes: 2 << 30)
        expected.queue.maxModifiers = 5
        expected.queue.maxBytes = ByteSize(bytes: 6 << 20)
        expected.queue.history = 0
        expected.queue.historyBytes = ByteSize(bytes: 7 << 20)
        expected.access.adminGroup = "wheel"
        expected.access.userShare = 0.25
        expected.log = .init(level: .warning, format: .json)
        #expect(read == expected)
    }

    @Test("Every key of an origin reaches its place, and origins are sorted by name")
    func origins() throws {
        let read = try configuration(
            """
            origins:
              b:
                base_url: http://127.0.0.1:8080/v1
                allow_private: true
                headers: {X-Client: larder, Accept-Language: "de, en", X-Number: 5}
                fetch: {policy: network-first, network_wait: 0ms, timeout: 1m,
                        connect_timeout: 1s, ttl: 7d, store_no_store: true,
                        min_refresh: 30s, compression: false, post_reads: [/g, "/s/*"],
                        vary: [X-T], refused_if: {pointer: /errors}}
                modifiers: {respond_async: true, idempotency: {header: X-Key, honoured: true},
                            answer: representation, after_unknown: hold, accepted_limit: 1h,
                            stalled_after: 3, keep_headers: [X-Total], if_match: strict,
                            on_conflict: manual, coalesce: net,
                            refused_if: [{pointer: /ok, equals: false}, {pointer: /n, equals: 3},
                                         {pointer: /data, equals: null}]}
              a: {base_url: https://a.example, fetch: {ttl: ~}}
            """
        )
        var second = OriginSettings(
            name: try OriginName("b"),
            baseURL: try WebURL("http://127.0.0.1:8080/v1")
        )
        second.allowPrivate = true
        second.headers.append("X-Client", "larder")
        second.headers.append("Accept-Language", "de, en")
        second.headers.append("X-Number", "5")
        second.fetch.policy = .networkFirst
        second.fetch.networkWait = .zero
        second.fetch.timeout = .seconds(60)
        second.fetch.connectTimeout = .seconds(1)
        second.fetch.ttl = .seconds(7 * 86_400)
        second.fetch.storesNoStore = true
        second.fetch.minRefresh = .seconds(30)
        second.fetch.compresses = false
        second.fetch.postReads = ["/g", "/s/*"]
        second.fetch.vary = ["x-t"]
        second.fetch.refusedIf = [RefusalRule(pointer: "/errors")]
        second.modifiers.respondsAsync = true
        second.modifiers.idempotency.header = "X-Key"
        second.modifiers.idempotency.isHonoured = true
        second.modifiers.answer = .representation
        second.modifiers.afterUnknown = .hold
        (second.modifiers.ifMatch, second.modifiers.onConflict) = (.strict, .manual)
        second.modifiers.coalesce = .net
        second.modifiers.acceptedLimit = .seconds(3_600)
        second.modifiers.stalledAfter = 3
        second.modifiers.keptHeaders = ["X-Total"]
        second.modifiers.refusedIf = [
            RefusalRule(pointer: "/ok", equals: "false"), RefusalRule(pointer: "/n", equals: "3"),
            RefusalRule(pointer: "/data", equals: "null"),
        ]
        let first = OriginSettings(
            name: try OriginName("a"),
            baseURL: try WebURL("https://a.example")
        )
        #expect(read.origins == [first, second])
    }

    @Test("The environment counts more than the file, and that more than the default")
    func precedence() throws {
        let file = "cache: {max_bytes: 1MiB, max_entry_bytes: 1MiB, memory_bytes: 1MiB}"
        let environment = [
            "LARDER_CACHE_MAX_BYTES": "3MiB", "LARDER_CACHE_MAX_ENTRY_BYTES": "2MiB",
            "LARDER_SOCKET": "/not/ours", "PATH": "/bin",
        ]
        let read = try configuration(file, environment: environment)
        var expected = Configuration(places: testPlaces)
        expected.cache.maxBytes = ByteSize(bytes: 3 << 20)
        expected.cache.maxEntryBytes = ByteSize(bytes: 2 << 20)
        expected.cache.memoryBytes = ByteSize(bytes: 1 << 20)
        #expect(read == expected)
    }

    @Test("Every key has its variable", arguments: ConfigurationKey.allCases)
    func variables(key: ConfigurationKey) throws {
        let other: [ConfigurationKey: String] = [
            .socketsAPI: "/x", .socketsMode: "0666", .socketsSpin: "false",
            .storageCacheDirectory: "/y", .storageStateDirectory: "/z", .cacheMaxBytes: "9MiB",
            .cacheMaxEntryBytes: "8MiB",
            .cacheLowWatermark: "0.5", .cacheMinFreeBytes: "7MiB", .cacheMemoryBytes: "6MiB",
            .pinsMaxBytes: "5MiB", .queueMaxModifiers: "4", .queueMaxBytes: "3MiB",
            .queueHistory: "2", .queueHistoryBytes: "1MiB", .accessAdminGroup: "keepers",
            .accessUserShare: "0.75",
            .logLevel: "error", .logFormat: "json",
        ]
        let text = try #require(other[key])
        let read = try configuration("", environment: [key.variable: text])
        #expect(read.text(of: key) == text)
        for same in ConfigurationKey.allCases where same != key {
            #expect(read.text(of: same) == Configuration(places: testPlaces).text(of: same))
        }
    }

    @Test("A printed configuration reads back as the same one, except for header values")
    func printed() throws {
        let read = try configuration(
            #"""
            sockets: {mode: "0600"}
            storage: {state_directory: "/a \"b\"\\\tc: #d é"}
            cache: {max_bytes: 4096B}
            queue: {max_modifiers: 0, history: 1}
            origins:
              "1.0": {base_url: "https://a.example/x-y_z~", headers: {Authorization: secret}}
              "null": {base_url: https://b.example, fetch: {ttl: 90s}, modifiers: {
                idempotency: {header: "null"}, stalled_after: 1, accepted_limit: 90s}}
            """#
        )
        let text = read.printed()
        #expect(!text.contains("secret"))
        var expected = read
        expected.knownOrigins[0].settings.headers.set("Authorization", "***")
        #expect(try configuration(text) == expected)
    }

    @Test("The defaults are printed as the manual shows them")
    func printedDefaults() throws {
        let places = DefaultPaths(environment: [:], uid: 0, home: "/root")
        #expect(
            Configuration(places: places).printed() == """
                sockets:
                  api: /run/larder/api.sock
                  mode: "0660"
                  spin: true
                storage:
                  cache_directory: /var/cache/larder
                  state_directory: /var/lib/larder
                cache:
                  max_bytes: 512MiB
                  max_entry_bytes: 64MiB
                  low_watermark: 0.9
                  min_free_bytes: 256MiB
                  memory_bytes: 32MiB
                pins:
                  max_bytes: 1GiB
                queue:
                  max_modifiers: 100000
                  max_bytes: 256MiB
                  history: 10000
                  history_bytes: 32MiB
                access:
                  admin_group: larder-admin
                  user_share: 0.5
                log:
                  level: info
                  format: auto
                origins: {}

                """
        )
    }
}
