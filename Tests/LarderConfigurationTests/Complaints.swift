@testable import LarderConfiguration

/// The folder of Package.swift.
func treeRoot(of file: String = #filePath) -> String {
    file.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
}

/// What `text` says to an ordinary user, in a file named `larder.yaml`.
func configuration(
    _ text: String,
    environment: [String: String] = [:]
) throws(ConfigurationError) -> Configuration {
    try Configuration.load(
        text: text,
        file: "larder.yaml",
        environment: environment,
        places: testPlaces
    )
}

/// What is wrong with `text`, one line each.
func complaints(
    _ text: String,
    environment: [String: String] = [:]
) -> [String] {
    do throws(ConfigurationError) {
        _ = try configuration(text, environment: environment)
        return []
    } catch {
        return error.description.split(separator: "\n").map(String.init)
    }
}

let testPlaces = DefaultPaths(
    environment: ["XDG_RUNTIME_DIR": "/run/user/7"],
    uid: 7,
    home: "/home/seven"
)
