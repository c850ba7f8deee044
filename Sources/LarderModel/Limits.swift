/// Every bound that is no key of the configuration, with its reason.
package enum Limits {
    /// An id.
    ///
    /// Longer than any URL that servers take (most end at 8 KiB).
    package static let idBytesMax = 8_192
    /// An account's name: a person types it.
    package static let accountBytesMax = 64
    /// An origin's name: it is a file's name too.
    package static let originNameBytesMax = 64

    /// A body up to this stays in its row and is read on the event loop; above it is kept in chunks
    /// of this size.
    ///
    /// A copy of 64 KiB takes about 10 µs, which other clients can wait for.
    package static let inlineBodyBytesMax = 65_536
    /// What a body in chunks can have: a row that says otherwise is damaged.
    package static let chunkedBodyBytes = 0...(inlineBodyBytesMax << 20)
    /// A JSON body up to this stands inline in a frame; larger ones are named by `body_href`.
    package static let inlineJSONBytesMax = 1_048_576
    /// A body that is not JSON stands in a frame as base64 up to this.
    package static let base64BodyBytesMax = 65_536
    /// What a problem quotes of an origin's refusal.
    package static let quotedBodyBytesMax = 65_536

    /// Nesting of JSON.
    ///
    /// As deep as normalizing goes; a recursive reader of ours stays on its stack.
    package static let jsonDepthMax = 512
    /// The same for our own frames and problems, which stand around a body of the depth above.
    package static let frameDepthMax = jsonDepthMax + 16
    /// How long a client may ask a fetch to wait.
    ///
    /// Nobody waits longer at a socket.
    package static let fetchTimeMax = Duration.seconds(3_600)

    /// The request line and headers from a client.
    ///
    /// Above it is 431 and a closed connection.
    package static let requestHeadBytesMax = 65_536
    /// Header fields in one request or answer.
    package static let headerFieldsMax = 256
    /// The JSON body of a command such as `POST /v1/fetch`.
    package static let commandBodyBytesMax = 1_048_576
    /// Bytes of pipelined requests that are held while one is being answered.
    package static let pipelinedBytesMax = 262_144
    /// Open connections of all clients.
    ///
    /// A connection costs about 10 KiB.
    package static let connectionsMax = 8_192
    /// Open connections of one uid, so that one user cannot shut the others out.
    package static let connectionsPerUserMax = 4_096
    /// A connection that has sent nothing for this long between requests is closed.
    package static let idleConnectionTime = Duration.seconds(600)
    /// A request whose bytes stop coming for this long is given up.
    package static let stalledRequestTime = Duration.seconds(30)
    /// A client that reads nothing for this long is given up.
    package static let stalledResponseTime = Duration.seconds(60)
    /// How long running answers may take after SIGTERM; below systemd's TimeoutStopSec (90 s).
    package static let drainTime = Duration.seconds(20)

    /// Rows in one page of a list.
    package static let pageRowsMax = 1_000
    package static let pageRowsDefault = 100
    /// Ids that a dry run or an eviction names in its answer; the counts are exact above it too.
    package static let evictedIDsMax = 10_000
    /// Ids in one `POST /v1/evict`.
    package static let evictIDsMax = 10_000

    /// Headers of an origin's answer that are kept.
    package static let responseHeadBytesMax = 65_536
    /// Redirects followed for one request, as browsers' order of magnitude and far from a loop.
    package static let redirectsMax = 5
    /// Repetitions of a read after a connection failure, 502, 503 or 504.
    package static let retriesMax = 2
    /// The first pause of a retry; it doubles, and full jitter is drawn from it.
    package static let retryBase = Duration.milliseconds(200)
    /// The longest pause of a retry that an origin can ask for by Retry-After.
    package static let retryAfterMax = Duration.seconds(10)
    /// An origin that has said nothing for this long counts as offline; the request goes on.
    package static let silenceTime = Duration.seconds(10)
    /// Time between two pieces of an origin's body.
    package static let upstreamReadTime = Duration.seconds(30)
    /// Connections to one host for reads; writes have as many of their own.
    package static let upstreamConnectionsPerHostMax = 8
    /// A pooled connection to an origin that nobody used for this long is closed; servers close
    /// theirs after about a minute, and a request on a closed one has to be repeated.
    package static let upstreamIdleTime = Duration.seconds(45)
    /// Fetches under way at once; one more is answered 503.
    package static let flightsMax = 1_024
    /// Of these for one account of one user, so that nobody shuts the others out.
    package static let flightsPerScopeMax = 512
    /// Headers that a client may give for one fetch.
    package static let requestHeadersMax = 64
    package static let requestHeaderBytesMax = 16_384

    /// Entries and the fixed cost of their rows: two B-tree cells, an index cell and the columns.
    package static let rowOverheadBytes = 256
    /// The fixed cost of a chunk's row.
    package static let chunkOverheadBytes = 64
    /// Rows that one transaction evicts on the way down to the low watermark; other writes pass
    /// between two of them.
    package static let evictionBatchRowsMax = 256
    /// Commands that one transaction of the writer takes.
    package static let commitBatchMax = 512
    /// Commands that may wait for the writer; above it a write is refused as overloaded.
    package static let writerQueueMax = 16_384
    /// Uses remembered between two flushes, 24 bytes each; above it they are flushed at once.
    package static let touchesMax = 65_536
    /// Time between two flushes of uses.
    ///
    /// What a crash forgets is the order of this long.
    package static let touchFlushTime = Duration.seconds(5)
    /// Free pages that one step of an idle moment gives back to the file system.
    package static let vacuumPagesMax = 256
    /// A file is not written anew for less than this, beyond twice what it holds.
    package static let rebuildBytesMin: Int64 = 16 << 20
    /// Pages in the WAL from which on the writer checkpoints (4 KiB each).
    package static let walPagesMax = 4_000
    /// Revisions that one synced write of `state.db` reserves.
    package static let revisionBlock: Int64 = 65_536

    /// A configuration file: thousands of origins fit, and reading it cannot fill the memory.
    package static let configurationFileBytesMax = 1_048_576
    /// A Unix socket's path: `sun_path` has 108 bytes and ends with a zero (unix(7)).
    package static let socketPathBytesMax = 107
    /// Sizes in the configuration; sums and products of a few of them stay within 64 bits.
    package static let configuredBytes = ByteSize(bytes: 0)...ByteSize(bytes: 1 << 50)
    /// `cache.max_bytes`; at least one page of the database.
    package static let cacheBytes = ByteSize(bytes: 4_096)...ByteSize(bytes: 1 << 50)
    /// `timeout`, `connect_timeout` and `network_wait`; nobody waits longer for an answer.
    package static let requestTimeMax = Duration.seconds(86_400)
    /// `ttl`: a hundred years, so that moments stay within the years of RFC 3339.
    package static let lifetimeMax = Duration.seconds(36_500 * 86_400)

    /// One line of a stream, at the client: an inline body, and a problem's quoted one with every
    /// byte escaped, with room around them.
    package static let frameBytesMax = 4 << 20
    /// A report or a list from the daemon, at the client: the most ids that one names, all of them
    /// as long as ids may be.
    package static let reportBytesMax = 2 * evictedIDsMax * idBytesMax
    /// How long a client waits for a connection: a queue at the socket, never a network.
    package static let socketConnectTime = Duration.seconds(10)
    /// How long a client waits for what the daemon answers from its own memory and files.
    package static let reportTime = Duration.seconds(60)
    /// Connections of one client, each held by one stream; above it requests wait for another's
    /// end.
    ///
    /// All of them at once fit the backlog of a kernel whose `somaxconn` is 128.
    package static let clientConnectionsMax = 100
}
