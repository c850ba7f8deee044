// swift-tools-version: 6.2

import PackageDescription

// The modules that are fuzzed, with the fuzzer: built with coverage, which nothing else wants.
// scripts/fuzz puts this file where the folders of its targets are.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "larder-fuzz",
    targets: [
        .systemLibrary(name: "CFuzzer"),
        target("LarderModel"),
        target("LarderJSON", ["LarderModel"]),
        target("LarderNormalize", ["LarderModel", "LarderJSON"]),
        target("FuzzTargets", ["LarderModel", "LarderJSON", "LarderNormalize"]),
        .executableTarget(
            name: "larder-fuzz",
            dependencies: ["CFuzzer", "FuzzTargets"],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
