import LarderAPI

extension DocumentedRoute {
    /// All routes, in the order of their table.
    static let all: [DocumentedRoute] =
        entries + streams + modifiers + pins + origins + administration + raw

    private static let entries: [DocumentedRoute] = [
        DocumentedRoute(
            .readBatch,
            body: .json([BatchCommand.self], example: #"{"ids":["notes/1"]}"#),
            [.frames(BatchFrame.self)],
            """
            Reads several entries as they are at one moment. The network is not asked. Bodies over \
            16 MiB in all have a `body_href`. 16 batches, 8 of one user, run at a time.
            """
        ),
        DocumentedRoute(
            .explainEntry,
            [.json(EntryExplanation.self)],
            problems: [.miss],
            "Tells all that is known of an entry or an entity, without its bytes."
        ),
        DocumentedRoute(
            .readEntry,
            headers: [.ifMatch, .ifNoneMatch, .range, .ifRange],
            [
                .bytes(headers: entryHeaders),
                .bytes(206, headers: [.contentRange] + entryHeaders),
                .empty(304, headers: [.etag, .larderRev]),
            ],
            problems: [.miss, .deleted, .preconditionFailed, .rangeNotSatisfiable],
            """
            Reads the bytes of an entry, with their media type; of an entity, compact JSON with every \
            member that an answer has brought. A reference to another entity is its key as a string, \
            or null if it was evicted, which `Larder-Complete: false` says. The network is not asked.
            """
        ),
        DocumentedRoute(
            .putEntry,
            headers: [.ifMatch, .ifNoneMatch, .larderClient],
            body: .bytes(
                "Any bytes, or none, up to `cache.max_entry_bytes`; of an entity a JSON object, up to "
                    + "4 MiB."
            ),
            [
                .empty(201, headers: [.etag, .larderRev]),
                .empty(204, headers: [.etag, .larderRev]),
            ],
            problems: [
                .originID, .preconditionFailed, .entryTooLarge, .cacheFull, .diskFull,
            ],
            """
            Stores bytes with their Content-Type under an id of the client's own; or takes an entity as \
            if its origin had sent it now: every answer with it shows it, and members that are not in it \
            stay. 201: the id is new. Content-Range and Content-Encoding are refused.
            """
        ),
        DocumentedRoute(
            .removeEntry,
            headers: [.ifMatch, .ifNoneMatch, .larderClient],
            [.empty(204, headers: [.larderRev])],
            problems: [.miss, .pinned, .preconditionFailed, .notPermitted],
            """
            Removes an entry; a fetched one is fetched again when it is asked for. An entity is taken as \
            deleted by its origin: answers with it show it by the rule for its type. The row of a shared \
            origin that all users see is removed with `scope=shared`, by administrators.
            """
        ),
        DocumentedRoute(
            .listEntries,
            [.json(Page<EntryItem>.self)],
            """
            Lists entries without their bytes; with a `prefix` that begins with `entity:`, entities, \
            deleted ones too.
            """
        ),
    ]

    private static let entryHeaders: [HeaderName] =
        [.etag, .age, .lastModified, .cacheStatus, .larderRev, .larderPending, .acceptRanges]
        + HeaderName.ofModifiers

    static let rawHeaders: [HeaderName] = [.cacheStatus, .larderPending, .larderSource]

    private static let fetchProblems: [ProblemKind] = [
        .unknownOrigin, .notARead, .miss, .deleted, .notAcceptable, .unreachable, .captive,
        .originStatus, .redirectRefused, .addressRefused, .badAnswer, .offline, .timeout,
    ]

    private static let streams: [DocumentedRoute] = [
        DocumentedRoute(
            .get,
            headers: [
                .cacheControl, .ifMatch, .ifNoneMatch, .ifModifiedSince, .range, .ifRange,
            ],
            [
                .bytes(headers: [.age, .larderRev] + rawHeaders),
                .bytes(206, headers: [.contentRange, .larderRev] + rawHeaders),
                .empty(304, headers: rawHeaders),
            ],
            problems: fetchProblems + [.preconditionFailed, .rangeNotSatisfiable],
            """
            Fetches a URL and returns one body, `network-first` without another policy. Another status \
            of the origin comes with its body. `follow` and `refresh` are refused; `heartbeat` has no \
            effect.
            """
        ),
        DocumentedRoute(
            .fetchByQuery,
            headers: [.larderClient, .lastEventID],
            [.frames(FetchFrame.self), .empty(204)],
            problems: fetchProblems,
            """
            Fetches a URL: the cached answer, then the origin's. Frames are JSON Lines, or events if \
            Accept has `text/event-stream`, or one array for `application/json`. A stream \
            without `end` was cut off.
            """
        ),
        DocumentedRoute(
            .fetchByBody,
            headers: [.larderClient],
            body: .json(
                [FetchCommand.self],
                example:
                    #"{"url":"https://api.example.com/articles/42","policy":"network-first","timeout":"10s"}"#
            ),
            [.frames(FetchFrame.self)],
            problems: fetchProblems,
            "Fetches a URL with header fields for the origin. Frames are as of a GET."
        ),
        DocumentedRoute(
            .watchByQuery,
            headers: [.larderClient, .lastEventID],
            [.frames(WatchFrame.self, document: WatchReport.self)],
            problems: [.sinceTooOld],
            """
            Watches what changes. With `timeout`, and if Accept has `application/json`, it is a long \
            poll with one JSON document. Without `id` and `prefix` every entry and entity is \
            watched. A client comes back with the `rev` of the last frame that has one and \
            neither `initial` nor `more`.
            """
        ),
        DocumentedRoute(
            .watchByBody,
            headers: [.larderClient, .lastEventID],
            body: .json([WatchCommand.self], example: #"{"ids":["notes/1"],"timeout":"0ms"}"#),
            [.frames(WatchFrame.self, document: WatchReport.self)],
            problems: [.sinceTooOld],
            "Watches what changes, with a long list of ids."
        ),
    ]

    private static let pins: [DocumentedRoute] = [
        DocumentedRoute(
            .listPins,
            [.json(Page<PinItem>.self)],
            "Lists pins by their ids."
        ),
        DocumentedRoute(
            .pin,
            [.json(201, PinItem.self), .json(202, PinItem.self), .empty(204)],
            problems: [.unknownOrigin, .miss, .pinsFull],
            """
            Pins an entry that is not an entity, which is then never evicted. 201: its bytes are on disk; 204: they were \
            before; 202: it waits for its origin. A pin that the origin refuses stays.
            """
        ),
        DocumentedRoute(
            .unpin,
            [.empty(204)],
            problems: [.miss, .pinned],
            """
            Ends the pin of a client. An entry that a set of `/v1/prefetch` keeps stays pinned; any \
            other becomes an ordinary one.
            """
        ),
        DocumentedRoute(
            .listPrefetches,
            [.json(Page<PrefetchReport>.self)],
            "Lists sets of entries that are fetched in advance, by their names; `next` is null."
        ),
        DocumentedRoute(
            .showPrefetch,
            [.json(PrefetchReport.self)],
            problems: [.noSuchSet],
            "Tells what there is of a set, with each missing entry and its problem."
        ),
        DocumentedRoute(
            .putPrefetch,
            body: .json(
                [PrefetchCommand.self],
                example:
                    #"{"items":[{"url":"https://api.example.com/articles/42"}],"expires":"12h"}"#
            ),
            [.json(200, PrefetchReport.self), .json(202, PrefetchReport.self)],
            problems: [.pinsFull, .diskFull, .unknownOrigin, .noSuchOrigin, .overloaded],
            """
            Has entries fetched in advance and pinned, as one set. The daemon first looks up their \
            sizes and refuses a set that is larger than what is free for pins. 202: entries are \
            fetched; 200: none is any more, or nothing was made. A set of that name is replaced: \
            what is only in the old one stays until the new one is fetched.
            """
        ),
        DocumentedRoute(
            .removePrefetch,
            [.empty(204)],
            problems: [.noSuchSet],
            "Removes a set; its entries become ordinary ones, unless something else keeps them."
        ),
    ]

    private static let origins: [DocumentedRoute] = [
        DocumentedRoute(
            .listOrigins,
            [.json(Page<OriginReport>.self)],
            "Lists the origins; `next` is null."
        ),
        DocumentedRoute(
            .checkOrigin,
            body: .json(
                [OriginCheckCommand.self],
                example: #"{"path":"/articles/42"}"#,
                isRequired: false
            ),
            [.json(OriginCheckReport.self)],
            problems: [.noSuchOrigin],
            "Asks an origin now, and stores nothing."
        ),
        DocumentedRoute(
            .showCredential,
            [.json(CredentialReport.self)],
            problems: [.noSuchOrigin],
            "Tells which credential the requests of the client's account carry, without its value."
        ),
        DocumentedRoute(
            .putCredential,
            body: .json(
                [CredentialCommand.self],
                example: #"{"value":"Bearer s3cret","expires":"2026-11-20T18:43:27Z"}"#
            ),
            [.json(CredentialReport.self)],
            problems: [.noSuchOrigin, .leaseOver, .diskFull, .overloaded],
            """
            Sets the credential of the client's account at an origin. From then on what the account \
            reads there is its own, and writes that waited for a credential are sent, one first. \
            The value goes to the origin's own scheme, host and port only, and no answer has it.
            """
        ),
        DocumentedRoute(
            .removeCredential,
            [.json(CredentialReport.self)],
            problems: [.noSuchOrigin],
            """
            Removes the credential of the client's account. `waiting` modifiers are left; those that \
            were accepted under a credential of the account wait for another one.
            """
        ),
        DocumentedRoute(
            .renewCredential,
            [.json(RenewalOrder.self), .empty(204)],
            problems: [.noSuchOrigin, .overloaded],
            """
            Waits until this client has to renew the credential of its account: the origin refused \
            it, or it expires in 60 s. The order comes on one line, to one client at a time. The \
            answer ends when the credential is set, or after 30 s. If the client closes the \
            connection before that, the next one gets the order. 204: the time is over.
            """
        ),
        DocumentedRoute(
            .showOrigin,
            [.json(OriginReport.self)],
            problems: [.noSuchOrigin],
            "Returns one origin."
        ),
        DocumentedRoute(
            .changeOrigin,
            body: .json([OriginChange.self], example: #"{"offline":true}"#),
            [.json(OriginReport.self)],
            problems: [.noSuchOrigin, .overloaded],
            "Sets an origin offline, so that no request leaves for it, or online again."
        ),
        DocumentedRoute(
            .putOrigin,
            headers: [.ifNoneMatch],
            body: .json(
                [OriginDefinition.self],
                example: #"{"base_url":"https://files.example.com"}"#
            ),
            [.json(OriginReport.self), .json(201, OriginReport.self, headers: [.location])],
            problems: [.originExists, .originInFile, .preconditionFailed],
            """
            Adds an origin, or replaces one that was added by a request; with `If-None-Match: *` it \
            only adds one.
            """
        ),
        DocumentedRoute(
            .removeOrigin,
            [.empty(204)],
            problems: [.noSuchOrigin, .originInFile],
            "Removes an origin that was added by a request; its entries stay."
        ),
    ]
}
