@testable import LarderConfiguration

/// The folder of Package.swift.
func treeRoot(of file: String = #filePath) -> String {
    file.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
}

/// Configuration that `text` is in a file, without the folders of origins; by default for an
/// ordinary user.
func configuration(
    _ text: String,
    of file: String = "larder.yaml",
    environment: [String: String] = [:],
    places: DefaultPaths = testPlaces,
    checkTLS: @escaping TLSCheck = { _ in nil }
) throws(ConfigurationError) -> Configuration {
    var reader = ConfigurationReader(Configuration(places: places), checkTLS: checkTLS)
    reader.read(text, of: file, environment: environment)
    return try reader.result()
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
