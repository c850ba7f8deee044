import ArgumentParser
import Foundation

/// The command line of an origin for the scripts in Tests/scripts: it keeps documents, counts the
/// effects of writes, and misbehaves as it is told to.
@main
struct TestOrigin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder-test-origin",
        abstract: "An HTTP/1.1 origin on 127.0.0.1 that scripts tell what to do.",
        discussion: """
            Prints its port once it listens, and serves until it is killed. Documents are JSON or \
            text under their paths:

              GET PATH      200 with an ETag, 304 by If-None-Match, 404
              PUT PATH      201 or 204
              PATCH PATH    200 with the document; a merge patch
              DELETE PATH   204, 404
              POST PATH     appends to the list at PATH; 201 with the element and its Location

            What it is told, and asked:

              POST /_control     how to treat requests, see below; 204
              GET /_control      what is still to be treated so, and counts
              DELETE /_control   forgets it, and closes what is held
              POST /_release     {"as": "answer"} or {"as": "close"}: what becomes of what is held
              GET /_log          the effects, one JSON line each
              GET /_received     the last requests, one JSON line each

            A command says which requests (prefix; method, times and unless_authorization, \
            else all) and what they get: \
            status, headers, type and body (JSON) or text instead of the ordinary answer; does: \
            answer, hold (not before /_release), close (once it is read), refuse (close before it \
            is read); applied: true has the effect as well; delay_ms.

              {"prefix": "/a", "times": 2, "status": 503, "headers": {"Retry-After": "1"}}
              {"prefix": "/a", "method": "PATCH", "applied": true, "body": {"ok": true}}
              {"prefix": "/a", "times": 1, "does": "hold", "applied": true}

            Each write that is applied is one line of --log; when it starts, the origin does those \
            lines again, so that it can be stopped and started.
            """
    )

    @Option(name: .long, help: "The port; without it a free one.")
    var port = 0

    @Option(name: .long, help: "The file of the effects.", completion: .file())
    var log: String?

    @Flag(name: .long, help: "Answer a key that was seen before as the first time, and do nothing.")
    var honourKeys = false

    @Flag(
        name: .long,
        help: """
            Close each connection after its answer. larderd repeats a request that is held for 3 s, \
            but none on a new connection.
            """
    )
    var close = false

    func run() async throws {
        let log = try log.map { path throws(EffectLogError) in try EffectLog(path: path) }
        var origin = Origin(honoursKeys: honourKeys)
        for write in try log?.read() ?? [] { origin.redo(write) }
        let server = try await OriginServer.start(port: port, origin, log, keepsAlive: !close)
        print(server.port)
        // The script reads it through a pipe or from a file.
        fflush(nil)
        try await server.wait()
    }
}
