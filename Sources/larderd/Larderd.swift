import ArgumentParser
import Foundation
import LarderConfiguration
import LarderModel
import LarderServer
import LarderStore
import Logging

/// The daemon's command line.
@main
struct Larderd: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "larderd",
        abstract: "An offline-first cache daemon: answers from its cache, asks the network too.",
        discussion: """
            Listens on a Unix socket. Without --config it reads /etc/larder/larder.yaml as root, \
            $XDG_CONFIG_HOME/larder/larder.yaml otherwise, and goes by its defaults where there \
            is none. Every key can be set in the environment as well: LARDER_CACHE_MAX_BYTES for \
            cache.max_bytes.

              larderd --config larder.yaml
              curl --unix-socket SOCKET http://larder/v1/status
            """,
        version: version
    )

    @Option(name: .long, help: "The configuration file.", completion: .file())
    var config: String?

    @Flag(name: .long, help: "Check the configuration and end: 0 if it is good, else 78.")
    var checkConfig = false

    @Flag(name: .long, help: "Print the configuration that is in force, and end.")
    var printConfig = false

    func run() async throws {
        let configuration = try loadConfiguration()
        if printConfig {
            print(configuration.printed(), terminator: "")
            return
        }
        if checkConfig { return }
        let logger = LogSetup.logger(configuration.log)
        do {
            try await Daemon(configuration, logger: logger, version: Self.version).run()
        } catch let error as StoreError {
            fail(error.message, code: error.exitCode)
        } catch let error as ServerError {
            fail(error.message, code: 1)
        }
    }

    private func loadConfiguration() throws -> Configuration {
        do throws(ConfigurationError) {
            return try Configuration.load(
                file: config,
                environment: Surroundings.environment,
                uid: geteuid(),
                home: Surroundings.home
            )
        } catch {
            fail("\(error)", code: 78)
        }
    }

    private func fail(_ message: String, code: Int32) -> Never {
        for line in message.split(separator: "\n") {
            StandardError.write("larderd: \(line)")
        }
        Foundation.exit(code)
    }
}

extension StoreError {
    /// 78 for a file of a later version, which only another larderd can read.
    fileprivate var exitCode: Int32 {
        switch self {
        case .newer: 78
        case .cannotOpen, .inUse, .sqlite, .diskFull, .corrupt, .tooLarge, .noRoom, .overloaded,
            .closed, .badChunk:
            1
        }
    }
}
