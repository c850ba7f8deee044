import ArgumentParser
import Dispatch
import Glibc
import LarderConfiguration
import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderSystemd
import LarderUpstream
import Logging
import Synchronization

/// The daemon's command line.
@main
struct Larderd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larderd",
        abstract: "An offline-first cache daemon: answers from its cache, asks the network too.",
        discussion: """
            Listens on a Unix socket. Without --config it reads the file that LARDER_CONFIG names, \
            else /etc/larder/larder.yaml as root and $XDG_CONFIG_HOME/larder/larder.yaml \
            otherwise, and uses its defaults where there is none. Every key can be set in the \
            environment as well: LARDER_CACHE_MAX_BYTES for cache.max_bytes.

            At SIGHUP larderd reads the configuration again, as at `cachectl reload`: all of it, \
            or nothing if it contains an error. The log says what was taken and what needs a \
            restart.

              larderd --config larder.yaml
              curl --unix-socket SOCKET http://larder/v1/status

            Exit codes: 0 ended in order, 1 another daemon has the folder or the socket, or the \
            socket cannot be made, 64 wrong usage, 73 state.db cannot be made or opened, 74 it \
            cannot be read or written, or the end took longer than 10 s, 78 bad configuration, a \
            cache directory that cannot be made, or a state.db of a later version. If cache.db \
            cannot be made, larderd answers without storing, and its status says so.
            """,
        version: Version.text
    )

    @Option(name: .long, help: "The configuration file.", completion: .file())
    var config: String?

    @Flag(name: .long, help: "Check the configuration and end: 0 if it is good, else 78.")
    var checkConfig = false

    @Flag(name: .long, help: "Print the configuration that is in force, and end.")
    var printConfig = false

    @Flag(
        name: .long,
        help: "Export unsent writes to unsent.jsonl in the state directory, and end."
    )
    var exportUnsent = false

    func validate() throws {
        // Swift reads them from /proc/self/cmdline. Without them --export-unsent, which a removed
        // package waits for, would start the daemon.
        guard CommandLine.argc > 0 else {
            throw ValidationError("the arguments cannot be read: /proc is not mounted")
        }
    }

    func run() throws {
        // libdispatch would write lines of its own form on stderr where it may not set a niceness.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // A write beyond `ulimit -f` fails instead, as on a full disk.
        signal(SIGXFSZ, SIG_IGN)
        let configuration = loadConfiguration()
        if printConfig {
            print(configuration.printed(), terminator: "")
            return
        }
        if checkConfig {
            for warning in configuration.warnings { StandardError.write("larderd: \(warning)") }
            return
        }
        if exportUnsent {
            writeUnsent(configuration)
            return
        }
        if let fault = CacheFolder.fault(making: configuration.storage.cacheDirectory) {
            fail(fault, code: 78, configuration.log)
        }
        let isFinished = DispatchSemaphore(value: 0)
        Task(executorPreference: ThreadPoolExecutor()) {
            await serve(configuration)
            isFinished.signal()
        }
        isFinished.wait()
    }

    private func serve(_ configuration: Configuration) async {
        let logger = LogSetup.logger(configuration.log)
        do {
            let systemd = try ServiceEnvironment(ProcessEnvironment.environment, pid: getpid())
            ServiceEnvironment.clear()
            let daemon = Daemon(
                configuration: configuration,
                systemd: systemd,
                logger: logger,
                load: readConfiguration
            )
            try await daemon.run()
        } catch let error as SystemdError {
            fail(error.message, code: 1, configuration.log)
        } catch let error as StoreError {
            fail(error.message, code: error.exitCode, configuration.log)
        } catch let error as ServerError {
            fail(error.message, code: 1, configuration.log)
        } catch {
            fail("\(error)", code: 1, configuration.log)
        }
    }

    /// Ends with 74 if a modifier is not in the file.
    private func writeUnsent(_ configuration: Configuration) {
        let export = UnsentExport(stateDirectory: configuration.storage.stateDirectory)
        do {
            let (written, unreadable) = try export.write()
            if written > 0 { print("unsent writes: \(written), in \(export.path)") }
            if unreadable > 0 {
                fail("\(unreadable) writes cannot be read", code: 74, configuration.log)
            }
        } catch let error as StoreError {
            fail(error.message, code: error.exitCode, configuration.log)
        } catch {
            fail("\(error)", code: 74, configuration.log)
        }
    }

    private func loadConfiguration() -> Configuration {
        do throws(ConfigurationError) {
            return try readConfiguration()
        } catch {
            let log: Configuration.Log
            switch error {
            case .invalid(_, let read): log = read
            case .unreadable:
                let isJSON = ProcessEnvironment.environment["LARDER_LOG_FORMAT"] == "json"
                log = Configuration.Log(format: isJSON ? .json : .auto)
            }
            fail("\(error)", code: 78, log)
        }
    }

    /// Reads everything that the configuration is made of, as it is now.
    @Sendable
    private func readConfiguration() throws(ConfigurationError) -> Configuration {
        var configuration = try Configuration.load(
            file: config,
            environment: ProcessEnvironment.environment,
            uid: ProcessEnvironment.uid,
            home: ProcessEnvironment.home,
            checkTLS: TLSMaterial.fault
        )
        configuration.warnings += configuration.access.groupWarnings
        return configuration
    }

    /// Ends the process with one line for each line of the message, in the form of the log.
    private func fail(
        _ message: String,
        code: Int32,
        _ log: Configuration.Log
    ) -> Never {
        for line in message.split(separator: "\n") {
            LogSetup.writeFatal(String(line), log)
        }
        Glibc.exit(code)
    }
}

extension StoreError {
    /// As sysexits(3) has them: 78 for a file of a later version, which only another larderd can
    /// read; 73 where the state's folder or file cannot be made; 74 where it fails.
    fileprivate var exitCode: Int32 {
        switch self {
        case .newer: 78
        case .cannotOpen, .unusable, .diskFull: 73
        case .sqlite, .corrupt: 74
        case .inUse, .tooLarge, .noRoom, .keyTaken, .pinned, .targeted, .queueFull, .modifierExists,
            .pinsFull, .tooManyPins, .tooManySets, .overloaded, .tooManyReads, .overLoopBudget,
            .closed,
            .badChunk,
            .noFile,
            .uploadLost, .conditionFailed, .otherIDs, .missingID, .idNamed:
            1
        }
    }
}

/// The number of files that the process may have open.
enum FileLimit {
    /// Raises the soft limit to the hard one, as a connection is a file; how many there may be.
    static func raise() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return .max }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        guard getrlimit(resource, &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }
}

/// The stream for messages.
enum StandardError {
    /// Writes one line in one call, so that lines of several threads do not mix.
    ///
    /// A failure is ignored: there is no other place to report it.
    static func write(_ line: String) {
        // A line end in it would begin another line, and a terminal obeys control characters.
        let scalars = line.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.properties.generalCategory == .control ? " " : scalar
        }
        var text = String(String.UnicodeScalarView(scalars)) + "\n"
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

/// Ends the process when its end takes longer than ``Limits/endTime``, whatever the disk does.
///
/// The next start then finds the files as after a crash.
///
/// The limit waits for nothing that may be stuck: it has its own thread and takes no lock of other
/// code. Its log message is written on another thread.
final class ShutdownDeadline: Sendable {
    // Relaxed: it only keeps the end from being counted twice.
    private let hasBegun = Atomic<Bool>(false)
    private let speaking = DispatchQueue(label: "larder.end-notice")
    private let ending = DispatchQueue(label: "larder.end")
    /// EX_IOERR of sysexits(3): the disk does not finish.
    private static let exitCode: Int32 = 74

    /// Starts the time limit; further calls do nothing.
    func begin(_ logger: Logger) {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        let time = Limits.endTime
        speaking.asyncAfter(deadline: .now() + .milliseconds(Int(time.milliseconds) - 500)) {
            logger.error(
                "the end takes too long",
                metadata: .larder([
                    .reason: "a disk does not answer: what is under way will be as after a crash"
                ])
            )
        }
        ending.asyncAfter(deadline: .now() + .milliseconds(Int(time.milliseconds))) {
            _exit(Self.exitCode)
        }
    }
}
