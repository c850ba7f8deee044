import LarderClient
import LarderTestSupport
import LarderWire
import Testing

@Suite("Errors", .timeLimit(.minutes(5)))
struct ErrorTests {
    /// The case of each kind, by its name; every kind stands here.
    private static let names: [String: [ProblemKind]] = [
        "miss": [.miss, .noSuchModifier, .noSuchSet],
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
            .originInFile, .pinned, .preconditionFailed, .rangeNotSatisfiable, .notARead, .targeted,
            .noRequest, .unsupported, .modifierExists,
        ],
        "tooLate": [.alreadySent, .alreadySettled, .leaseOver],
        "unavailable": [
            .cacheFull, .diskFull, .pinsFull, .queueFull, .overloaded, .shuttingDown, .storage,
            .inUse, .internal,
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
                    #expect(error?.problem == problem)
                    #expect(error?.description == "this one")
                }
            }
        }
    }

    @Test("A problem of a type that only a newer daemon knows is thrown with all that it says")
    func unknownType() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/status", with: .problem(Self.news))
            let error = await #expect(throws: LarderError.self) { _ = try await client.status() }
            #expect(error == .other(Self.news))
            #expect(error?.problem?.title == "News")
            #expect(error?.problem?.retryable == true)
        }
    }

    /// What a newer daemon may say.
    static let news: Problem = {
        var problem = Problem(.cacheFull, "this is new", status: 429, hint: "Wait.")
        problem.type = "urn:larder:news"
        problem.title = "News"
        return problem
    }()

    @Test(
        "A refusal of HEAD, which has no body, is a problem that says the status",
        arguments: [(400, false), (403, false), (500, false), (503, true)]
    )
    func refusedHead(status: Int, isRetryable: Bool) async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/entries/a", with: .reply(status))
            let error = await #expect(throws: LarderError.self) {
                _ = try await client.metadata("a")
            }
            guard case .other(let problem) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(problem.type == "about:blank")
            #expect(problem.status == status)
            #expect(problem.retryable == isRetryable)
        }
    }

    @Test("Where no daemon answers, the error names both ways to begin (S4)")
    func waysToBegin() {
        let failure = SocketFailure(path: "/run/larder/api.sock", reason: "there is no socket")
        #expect(
            LarderError.unreachable([failure]).description == """
                no larderd answers at /run/larder/api.sock (there is no socket)
                Use the system's daemon: sudo adduser NAME larder-clients    (log in again)
                Or start your own: systemctl --user enable --now larder.socket    (works immediately)
                """
        )
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
                #expect(!problem.retryable)
            } catch {
                Issue.record("\(error)")
            }
        }
    }

    @Test("An error that the daemon did not send has no problem")
    func others() {
        let errors: [LarderError] = [
            .unreachable([]), .socketRefused(path: "/a"), .timedOut, .cutOff, .badAnswer(""),
            .decoding(id: "", reason: ""), .bodyFailed(""),
            .fileFailed(path: "", reason: ""), .cancelled,
        ]
        for error in errors { #expect(error.problem == nil) }
    }
}
