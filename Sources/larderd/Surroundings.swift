import Foundation

/// What the process was given by whoever started it.
enum Surroundings {
    static var environment: [String: String] { ProcessInfo.processInfo.environment }
    static var home: String { NSHomeDirectory() }
}
