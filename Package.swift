// swift-tools-version: 6.2

import PackageDescription

/// The settings of every target: Swift 6 mode comes with the tools version, the rest is named here.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser",
    package: "swift-argument-parser"
)
let asyncHTTPClient = Target.Dependency.product(
    name: "AsyncHTTPClient",
    package: "async-http-client"
)
let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle",
    package: "swift-service-lifecycle"
)
let unixSignals = Target.Dependency.product(
    name: "UnixSignals",
    package: "swift-service-lifecycle"
)
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")

/// A layer of the ladder in ARCHITECTURE.md; it may import only what stands in `dependencies`.
func layer(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func example(_ name: String) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["LarderClient"],
        path: "Examples/\(name)",
        swiftSettings: strict
    )
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "larder",
    products: [
        .executable(name: "larderd", targets: ["larderd"]),
        .executable(name: "cachectl", targets: ["cachectl"]),
        .library(name: "LarderClient", targets: ["LarderClient"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // 0: what everything stands on.
        .systemLibrary(
            name: "CBrotli",
            pkgConfig: "libbrotlidec",
            providers: [.apt(["libbrotli-dev"])]
        ),
        .systemLibrary(
            name: "CMessageDigest",
            pkgConfig: "libmd",
            providers: [.apt(["libmd-dev"])]
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        // The files of schema/, embedded by the C compiler.
        .target(name: "CSchema"),
        // adjtimex(2).
        .systemLibrary(name: "CTimex"),
        .systemLibrary(
            name: "CXXHash",
            pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"])]
        ),
        .systemLibrary(
            name: "CYAML",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]
        ),
        .systemLibrary(
            name: "CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]
        ),
        .systemLibrary(
            name: "CZstd",
            pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"])]
        ),
        layer("LarderModel"),
        // 1: pure: no I/O, no clock, no async.
        layer("LarderJSON", ["LarderModel"]),
        layer("LarderAPI", ["LarderModel", "LarderJSON"]),
        layer("LarderNormalize", ["LarderModel", "LarderJSON"]),
        layer("LarderStrategy", ["LarderModel"]),
        layer("LarderWire", ["LarderModel", "LarderJSON", "LarderAPI"]),
        // 2: the outside world.
        layer(
            "LarderStore",
            ["LarderModel", "LarderNormalize", "CSchema", "CSQLite", "CXXHash", collections]
        ),
        layer(
            "LarderUpstream",
            [
                "LarderModel", "CBrotli", "CZlib", "CZstd", asyncHTTPClient, logging, nioCore,
                nioHTTP1, nioPosix, nioSSL,
            ]
        ),
        // 3: carries out what strategies decide.
        layer(
            "LarderEngine",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderNormalize", "LarderStrategy",
                "LarderWire", "LarderStore", "LarderUpstream", "CMessageDigest", "CTimex", heap,
                logging,
            ]
        ),
        // 4: the doors.
        layer(
            "LarderServer",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderWire", "LarderEngine",
                "LarderStore", "CSchema", collections, logging, nioCore, nioHTTP1, nioPosix,
            ]
        ),
        layer(
            "LarderClient",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderWire", asyncHTTPClient, nioCore,
                nioHTTP1, nioPosix,
            ]
        ),
        layer(
            "LarderConfiguration",
            ["LarderModel", "LarderJSON", "LarderAPI", "LarderWire", "CYAML"]
        ),
        layer("LarderSystemd"),
        // 5: the programs.
        program(
            "larderd",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderConfiguration", "LarderEngine",
                "LarderServer", "LarderStore", "LarderSystemd", "LarderUpstream", "LarderWire",
                argumentParser, lifecycle, logging, unixSignals,
            ]
        ),
        program(
            "cachectl",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderWire", "LarderClient",
                "LarderConfiguration", argumentParser,
            ]
        ),
        // Examples, which tests run.
        example("Greeting"),
        example("Reader"),
        example("Todo"),
        // Tests.
        .target(
            name: "LarderTestSupport",
            dependencies: [
                "LarderModel", "LarderAPI", "LarderWire", "LarderConfiguration", "LarderEngine",
                "LarderServer", "LarderStore", "LarderUpstream", logging, nioCore, nioHTTP1,
                nioPosix, nioSSL,
            ],
            path: "Tests/LarderTestSupport",
            swiftSettings: strict
        ),
        // The origin of Tests/scripts: no product, but a program beside the others.
        .executableTarget(
            name: "larder-test-origin",
            dependencies: ["LarderJSON", argumentParser, nioCore, nioHTTP1, nioPosix],
            path: "Tests/Origin",
            swiftSettings: strict
        ),
        // Writes schema/openapi.json: scripts/generate-openapi.
        .executableTarget(
            name: "larder-openapi",
            dependencies: ["LarderAPI", "LarderJSON"],
            path: "Tests/OpenAPI",
            swiftSettings: strict
        ),
        // The load of scripts/bench where h2load does not do.
        .executableTarget(
            name: "larder-load",
            dependencies: [argumentParser],
            path: "Benchmarks/Load",
            swiftSettings: strict
        ),
        // Splitting and rebuilding measured.
        .executableTarget(
            name: "larder-normalize",
            dependencies: ["LarderModel", "LarderJSON", "LarderNormalize", "LarderStore"],
            path: "Benchmarks/Normalize",
            swiftSettings: strict
        ),
        // What scripts/fuzz holds against what libFuzzer makes up, and tests against a little.
        .target(
            name: "FuzzTargets",
            dependencies: ["LarderModel", "LarderJSON", "LarderNormalize"],
            path: "Tests/Fuzz/Targets",
            swiftSettings: strict
        ),
        tests("LarderModelTests", ["LarderModel", "LarderTestSupport"]),
        tests(
            "LarderJSONTests",
            ["FuzzTargets", "LarderModel", "LarderJSON", "LarderTestSupport"]
        ),
        tests(
            "LarderAPITests",
            ["LarderModel", "LarderJSON", "LarderAPI", "LarderTestSupport"]
        ),
        tests(
            "LarderNormalizeTests",
            ["FuzzTargets", "LarderModel", "LarderJSON", "LarderNormalize", "LarderTestSupport"]
        ),
        tests("LarderStrategyTests", ["LarderModel", "LarderStrategy", "LarderTestSupport"]),
        tests(
            "LarderWireTests",
            ["LarderModel", "LarderJSON", "LarderAPI", "LarderWire", "LarderTestSupport"]
        ),
        tests("LarderStoreTests", ["LarderModel", "LarderStore", "LarderTestSupport"]),
        tests(
            "LarderUpstreamTests",
            [
                "LarderModel", "LarderUpstream", "LarderTestSupport", nioCore, nioEmbedded,
                nioHTTP1, nioPosix,
            ]
        ),
        tests(
            "LarderEngineTests",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderStrategy", "LarderWire",
                "LarderEngine", "LarderStore", "LarderUpstream", "LarderTestSupport", logging,
            ]
        ),
        tests(
            "LarderServerTests",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderWire", "LarderEngine",
                "LarderServer", "LarderStore", "LarderUpstream", "LarderTestSupport", nioCore,
                nioHTTP1,
                nioPosix, nioEmbedded,
            ]
        ),
        tests(
            "LarderConfigurationTests",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderNormalize", "LarderWire",
                "LarderConfiguration", "LarderTestSupport",
            ]
        ),
        tests(
            "LarderClientTests",
            [
                "LarderModel", "LarderJSON", "LarderAPI", "LarderWire", "LarderClient",
                "LarderTestSupport", nioCore, nioHTTP1, nioPosix,
            ]
        ),
        tests("LarderSystemdTests", ["LarderSystemd", "LarderTestSupport"]),
        tests("TidyTests"),
    ],
    swiftLanguageModes: [.v6],
    // For `#embed` in CSchema.
    cLanguageStandard: .c2x
)
