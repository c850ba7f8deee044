import LarderClient
import LarderTestSupport
import LarderWire
import Testing

@Suite("Errors", .timeLimit(.minutes(5)))
struct ErrorTests {
    /// The case of each kind, by its name; every kind stands here.
    private static let names: [String: [ProblemKind]] = [
        "miss": [.miss, .noSuchModifier],
        "deleted": [.deleted],
        "unknownOrigin": [.unknownOrigin, .noSuchOrigin],
        "notPermitted": [.notPermitted],
        "offline": [.unreachable, .captive, .offline, .timeout],
        "originFailed": [
            .originStatus, .redirectRefused, .addressRefused, .badAnswer, .notApplied,
        ],
        "tooLarge": [.bodyTooLarge, .headTooLarge, .entryTooLarge],
        "invalid": [
            .badRequest, .badID, .badURL, .unknownParameter, .unknownMember, .notFound,
            .methodNotAllowed, .notAcceptable, .sinceTooOld, .originID, .originExists,
            .originInFile, .pinned, .preconditionFailed, .targeted, .noRequest,
            .unsupported, .modifierExists, .originNeeded,
        ],
        "tooLate": [.alreadySent, .alreadySettled],
        "unavailable": [
            .cacheFull, .diskFull, .pinsFull, .queueFull, .overloaded, .shuttingDown, .storage,
            .internal,
        ],
    ]

    @Test("Every problem of the daemon is thrown as its case, with what the daemon said")
    func cases() async throws {
        #expect(Set(Self.names.values.flatMap { $0 }) == Set(ProblemKind.allCases))
        for (name, kinds) in Self.names {
            for kind in kinds {
                try await withDaemon { daemon, client in
                    var problem = Problem(kind, "this one")
                    problem.requestID = "r-1"
                    daemon.answer("/v1/status", with: .problem(problem))
                    let error = await #expect(throws: LarderError.self) {
                        _ = try await client.status()
                    }
                    #expect(
                        "\(error.map { Mirror(reflecting: $0) }?.children.first?.label ?? "")"
                            == name
                    )
                    #expect(error?.problem?.problem == problem)
                    #expect(error?.description == "this one")
                }
            }
        }
    }

    @Test("A miss can be caught by its name")
    func byName() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/entries/a", with: .problem(Problem(.miss, "no")))
            do throws(LarderError) {
                _ = try await client.entry("a")
                Issue.record("there was no error")
            } catch .miss(let problem) {
                #expect(problem.type == "urn:larder:miss")
                #expect(!problem.isRetryable)
            } catch {
                Issue.record("\(error)")
            }
        }
    }

    @Test("What is not the daemon's word has no problem")
    func others() {
        let errors: [LarderError] = [
            .unreachable([]), .socketRefused(path: "/a"), .timedOut, .cutOff, .badAnswer(""),
            .decoding(id: "", reason: ""), .bodyFailed(""),
            .fileFailed(path: "", reason: ""), .cancelled,
        ]
        for error in errors { #expect(error.problem == nil) }
    }
}
