import LarderAPI

extension DocumentedRoute {
    static let modifiers: [DocumentedRoute] = [
        DocumentedRoute(
            .listModifiers,
            [.json(Page<ModifierReport>.self)],
            "Lists modifiers in the order in which they were accepted."
        ),
        DocumentedRoute(
            .acceptModifiers,
            headers: [.larderClient],
            body: .json(
                [ModifierCommand.self, ModifiersCommand.self],
                example:
                    #"{"id":"like-42","changes":[{"target":{"id":"https://api.example.com/articles/42"},"#
                    + #""effect":{"type":"merge","value":{"liked":true}}}]}"#
            ),
            [
                .json(
                    200,
                    ModifierReceipt.self,
                    Page<ModifierReceipt>.self,
                    ModifierReport.self,
                    headers: [.location]
                ),
                .json(
                    202,
                    ModifierReceipt.self,
                    Page<ModifierReceipt>.self,
                    ModifierReport.self,
                    headers: [.location]
                ),
            ],
            problems: [
                .unknownOrigin, .noSuchOrigin, .noSuchModifier, .modifierExists, .noRequest,
                .unsupported, .queueFull, .diskFull,
            ],
            """
            Accepts modifiers, all or none: they show now and are sent as soon as the network allows. \
            202: they are on disk. 200: they are settled, as they were given before or as `wait` was \
            long enough. A receipt for each; for one modifier with `wait` its report.
            """
        ),
        DocumentedRoute(
            .actOnModifiers,
            body: .json(
                [ModifierActionCommand.self],
                example: #"{"action":"retry","ids":["like-42"]}"#
            ),
            [.json(Page<ModifierActionResult>.self)],
            problems: [.noSuchOrigin],
            """
            Retries, cancels, drops or discards modifiers, by their ids or all in a state, of which \
            one answer has up to 1,000: `next` asks for the rest. Each modifier has its own result.
            """
        ),
        DocumentedRoute(
            .showModifier,
            [.json(ModifierReport.self)],
            problems: [.noSuchModifier],
            """
            Tells the state of a modifier and what it changes, as long as the history has it. With \
            `Accept: application/octet-stream` the answer is the body of its request, whole and as it \
            is; 404 once it is confirmed or cancelled.
            """
        ),
        DocumentedRoute(
            .editModifier,
            body: .json(
                [ModifierEdit.self],
                example:
                    #"{"changes":[{"target":{"id":"https://api.example.com/articles/42"},"#
                    + #""effect":{"type":"merge","value":{"liked":false}}}]}"#
            ),
            [.json(ModifierReceipt.self)],
            problems: [
                .noSuchModifier, .alreadySent, .alreadySettled, .overloaded, .unknownOrigin,
                .noSuchOrigin, .noRequest, .queueFull, .diskFull,
            ],
            """
            Replaces the changes and the request of a modifier that cannot have been applied, or of one \
            that has failed, which stays so until it is retried. Its place in the queue stays. After an \
            attempt it has the next idempotency key. The same edit again changes nothing.
            """
        ),
        DocumentedRoute(
            .removeModifier,
            [.empty(204)],
            problems: modifierProblems,
            """
            Drops a modifier: forgets one that has failed, or takes one back that cannot have been \
            applied, with those that depend on it.
            """
        ),
        DocumentedRoute(
            .listLanes,
            [.json(Page<LaneItem>.self)],
            "Lists the paused lanes; `next` is null."
        ),
        DocumentedRoute(
            .setLane,
            body: .json([LaneCommand.self], example: #"{"paused":true}"#),
            [.empty(204)],
            problems: [.overloaded],
            "Pauses or resumes a lane: nothing of a paused lane is sent, across restarts."
        ),
    ]

    private static let modifierProblems: [ProblemKind] = [
        .noSuchModifier, .alreadySent, .alreadySettled, .notApplied, .overloaded,
    ]

    static let administration: [DocumentedRoute] = [
        DocumentedRoute(
            .evict,
            headers: [.larderClient],
            body: .json([EvictCommand.self], example: #"{"ids":["notes/1"],"dry_run":true}"#),
            [.json(EvictReport.self)],
            """
            Evicts entries, or tells which would be. With `scope` shared it is for administrators unless \
            it is a dry run.
            """
        ),
        DocumentedRoute(
            .status,
            [.json(StatusReport.self)],
            "Tells the state of the daemon."
        ),
        DocumentedRoute(
            .stats,
            [.json(StatsReport.self)],
            "Tells counters and latencies since the daemon's start."
        ),
        DocumentedRoute(
            .usage,
            [.json(UsageReport.self)],
            "Adds up the sizes of entries, pins and files."
        ),
        DocumentedRoute(
            .check,
            [.json(Page<Finding>.self)],
            problems: [.overloaded],
            """
            Checks the daemon's files, their permissions, its reserves and its clock, within 30 s, one \
            check at a time.
            """
        ),
        DocumentedRoute(
            .reload,
            [.json(ReloadReport.self)],
            """
            Reads the configuration again, as SIGHUP does. All of it is taken or nothing. The answer \
            to a refused configuration is 200 too: `state` is `refused`, and `refused` has the reasons.
            """
        ),
        DocumentedRoute(
            .purge,
            [.json(PurgeReport.self)],
            problems: [.inUse],
            """
            Removes all that is kept of a user or of one account: entries, entities, pins, modifiers and \
            their history. Modifiers that were not sent are lost.
            """
        ),
        DocumentedRoute(
            .health,
            [.json(Health.self)],
            problems: [.storage],
            "Tells that a read of the store succeeds."
        ),
        DocumentedRoute(
            .version,
            [.json(VersionReport.self)],
            "Tells the version of the daemon."
        ),
        DocumentedRoute(
            .document,
            [.json(RawJSON.self)],
            "Returns this document."
        ),
    ]

    static let raw: [DocumentedRoute] = [
        DocumentedRoute(
            .raw,
            headers: [
                .cacheControl, .larderPolicy, .larderAccount, .ifMatch, .ifNoneMatch,
                .ifModifiedSince, .range, .ifRange,
            ],
            [
                .bytes(headers: rawHeaders),
                .bytes(206, headers: [.contentRange] + rawHeaders),
                .empty(304, headers: rawHeaders),
            ],
            problems: fetchProblemsOfRaw,
            """
            Returns an origin's answer as one body, for clients that can only set a base URL: \
            `/o/NAME` is the origin's base URL. The client's other header fields and the query \
            go to the origin. Another status of the origin comes with its body. An absolute URL as \
            the target of the request (RFC 9112 3.2.2) is the same route, with every method.
            """
        ),
        rawWrite(
            .rawPost,
            "POST",
            """
            Nothing changes here until the origin has answered. A POST to a path of the origin's \
            `post_reads` is answered as a GET is, unless its body is a GraphQL mutation; so is each \
            QUERY (RFC 10008). Such a read has a body of at most 131,072 bytes. Another method, such as \
            `PROPFIND`, is the same route; `TRACE` and `CONNECT` are refused.
            """
        ),
        rawWrite(.rawPut, "PUT", "The body replaces what is shown under the URL."),
        rawWrite(
            .rawPatch,
            "PATCH",
            "A JSON Merge Patch or a JSON Patch of 1 MiB at most shows now."
        ),
        rawWrite(.rawDelete, "DELETE", "The URL shows as deleted now."),
        DocumentedRoute(
            .rawOptions,
            headers: [.larderAccount],
            [.bytes(headers: [.cacheStatus, .larderPending])],
            problems: writeProblemsOfRaw,
            "Passes the request on to the origin, and gives back its answer, which is not kept."
        ),
    ]

    private static let fetchProblemsOfRaw: [ProblemKind] = [
        .unknownOrigin, .miss, .deleted, .unreachable, .captive, .redirectRefused,
        .addressRefused, .badAnswer, .offline, .timeout, .preconditionFailed,
        .rangeNotSatisfiable,
    ]

    private static let writeProblemsOfRaw: [ProblemKind] = [
        .unknownOrigin, .unsupported, .unreachable, .captive, .addressRefused, .badAnswer,
        .offline, .overloaded, .timeout,
    ]

    private static func rawWrite(
        _ name: RouteName,
        _ method: String,
        _ text: String
    ) -> DocumentedRoute {
        DocumentedRoute(
            name,
            headers: [.prefer, .larderAccount],
            body: method == "DELETE"
                ? .none : .bytes("Any bytes, or none; of a modifier up to 16 MiB."),
            [
                .bytes(headers: [.cacheStatus, .larderPending]),
                .json(
                    202,
                    ModifierReceipt.self,
                    headers: [.location, .preferenceApplied]
                ),
            ],
            problems: writeProblemsOfRaw + [.modifierExists],
            """
            Passes the request on to the origin, and gives back its answer. A 2xx or 3xx makes the \
            URL and its variants stale. With `Prefer: respond-async` the daemon accepts the \
            request as a modifier, which is sent as soon as the network allows. \(text) \
            `Idempotency-Key`, or the header that the origin's settings name, is the modifier's \
            id. `Authorization` and `Cookie` of a modifier are refused. A modifier that is settled \
            already is answered 200, with its receipt.
            """
        )
    }
}
