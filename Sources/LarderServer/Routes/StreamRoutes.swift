import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1

/// `/v1/fetch`: what is cached and what the network says, as frames.
struct FetchRoutes {
    let exchange: Exchange
    let loop: LoopReader

    func answer(byQuery: Bool) async throws(Problem) {
        if exchange.head.headers.first(name: "Last-Event-ID") == FrameFormat.endID {
            return await exchange.writer.respond(.noContent)
        }
        var given = try await command(byQuery: byQuery)
        given.options.account = try exchange.head.account(given.options.account)
        let command = try FetchOrder(given)
        guard FrameFormat.isArrayNamed(in: exchange.accepted) else {
            let stream = FrameStream(exchange)
            try await fetch(command) { frame in await stream.send(frame) }
            return await stream.end()
        }
        guard !command.follows else {
            throw Problem(
                .notAcceptable,
                "a stream with follow has no end, so it cannot be application/json",
                hint: "Accept application/jsonl or text/event-stream, or leave follow out."
            )
        }
        let array = FrameArray(exchange)
        try await fetch(command) { frame in array.take(frame) }
        try await array.end()
    }

    private func fetch(
        _ command: FetchOrder,
        emit: @escaping (FetchFrame) async -> Bool
    ) async throws(Problem) {
        let refusal = await exchange.engine.fetch(
            command,
            scope: exchange.scope(command.account),
            client: try exchange.client,
            reader: loop.reader,
            cancellation: exchange.cancellation,
            emit: { frame in await emit(named(frame)) }
        )
        if let refusal { throw refusal }
    }

    private func named(_ frame: FetchFrame) -> FetchFrame {
        guard case .problem(var frame) = frame else { return frame }
        frame.problem = exchange.named(frame.problem)
        return .problem(frame)
    }

    /// A POST takes its parameters in the body only.
    private func command(byQuery: Bool) async throws(Problem) -> FetchCommand {
        guard byQuery else { return try await exchange.command() }
        return try exchange.parameters(hint: Self.encodeHint)
    }

    static let encodeHint = """
        If it is part of the URL, the URL was not percent-encoded: \
        curl -G --data-urlencode url=URL …/v1/fetch
        """
}

/// `/v1/watch`: what changes, as frames or as a long poll.
struct WatchRoutes {
    let exchange: Exchange

    func answer(byQuery: Bool) async throws(Problem) {
        var given = try await command(byQuery: byQuery)
        given.options.account = try exchange.head.account(given.options.account)
        var command = try WatchOrder(given)
        if let last = exchange.head.headers.first(name: "Last-Event-ID") {
            try command.takeLastEventID(last)
        }
        guard !FrameFormat.isArrayNamed(in: exchange.accepted) else {
            guard command.timeout != nil else {
                throw Problem(
                    .notAcceptable,
                    "a watch without timeout has no end, and is no application/json",
                    hint: "Accept application/jsonl or text/event-stream, or give timeout."
                )
            }
            return try await poll(command)
        }
        let stream = FrameStream(exchange)
        let refusal = await exchange.engine.watches.watch(
            command,
            scope: exchange.scope(command.account),
            client: try exchange.client,
            cancellation: exchange.cancellation,
            emit: { frames in await stream.send(frames) }
        )
        if let refusal { throw refusal }
        await stream.end()
    }

    private func poll(_ command: WatchOrder) async throws(Problem) {
        let report = try await exchange.engine.watches.poll(
            command,
            scope: exchange.scope(command.account),
            client: try exchange.client,
            cancellation: exchange.cancellation
        )
        await exchange.writer.respond(
            .ok,
            ["Content-Type": "application/json", "Cache-Control": "no-store", "Vary": "Accept"],
            body: APIEncoder().encode(report)
        )
    }

    /// A POST takes its parameters in the body only.
    private func command(byQuery: Bool) async throws(Problem) -> WatchCommand {
        guard byQuery else { return try await exchange.command() }
        let query: WatchQuery = try exchange.parameters()
        return WatchCommand(query)
    }
}

/// `/o/{origin}/{path}`: an origin's answer as one body, for clients that can only set a base URL.
struct RawRoutes {
    let exchange: Exchange
    let loop: LoopReader
    private var writer: ResponseWriter { exchange.writer }

    // MARK: Writing

    func write() async throws(Problem) {
        let command = try RawWriteCommand(
            method: exchange.head.method.rawValue,
            uri: exchange.head.uri,
            headers: exchange.fields
        )
        let scope = exchange.scope(command.place.account)
        let destination = try await exchange.engine.modifiers.destination(of: command, scope)
        try await write(command, destination, scope)
    }

    /// `given` is the body if it has been read.
    private func write(
        _ command: RawWriteCommand,
        _ destination: WriteDestination,
        _ scope: ScopeKey,
        given: [UInt8]? = nil
    ) async throws(Problem) {
        switch destination {
        case .read(let read, let otherwise):
            // A request without a body is passed on, and so is a body too large for a read.
            let mayBeRead =
                if read.method == .query { true } else {
                    try await exchange.hasBody(upTo: Limits.readBodyBytesMax)
                }
            guard mayBeRead else { return try await write(command, otherwise, scope) }
            let body = try await exchange.wholeBody(upTo: Limits.readBodyBytesMax)
            let content = try await exchange.work(onBytes: body.count) { () throws(Problem) in
                read.content(body)
            }
            guard let content else {
                return try await write(command, otherwise, scope, given: body)
            }
            try await self.read(content)
        case .queue(let url, let keyHeader):
            try await queue(command, to: url, keyHeader, scope, given: given)
        case .pass(let url, let origin):
            let write = try await exchange.engine.passedWrites.ready(
                command,
                to: url,
                origin,
                scope,
                cancellation: exchange.cancellation
            )
            guard let write else { return await writer.abort() }
            guard let given else { return try await pass(write) }
            await answer(with: try await send(write, given.isEmpty ? .none : .bytes(given)))
        }
    }

    /// 202 once the request is on disk as a modifier; 200 where it was before, and is settled.
    private func queue(
        _ command: RawWriteCommand,
        to url: WebURL,
        _ keyHeader: String,
        _ scope: ScopeKey,
        given: [UInt8]?
    ) async throws(Problem) {
        let body: [UInt8] =
            if let given { given } else {
                try await exchange.wholeBody(upTo: command.bodyBytesMax)
            }
        let byteCount = body.count
        let accepted = try await exchange.work(onBytes: byteCount) { () throws(Problem) in
            ModifiersCommand(try command.modifier(to: url, keyHeader: keyHeader, body: body))
        }
        let receipts = try await exchange.engine.modifiers.accept(
            accepted,
            scope,
            byteCount: byteCount
        )
        let headers: HTTPHeaders = ["Preference-Applied": "respond-async"]
        try await exchange.respond(receipts, of: accepted, headers)
    }

    /// Sends a write to its origin: a small body as a whole, any other while it arrives.
    private func pass(_ write: PassedWrite) async throws(Problem) {
        guard !RequestFraming(exchange.head).hasNoBody else {
            return await answer(with: try await send(write, .none))
        }
        if let count = exchange.announcedLength, count <= Limits.inlineBodyBytesMax {
            let bytes = try await exchange.wholeBody(upTo: Limits.inlineBodyBytesMax)
            return await answer(with: try await send(write, .bytes(bytes)))
        }
        let place = try exchange.enterUpload()
        let (exchange, pipe) = (exchange, BodyPipe())
        async let pumping: Void = exchange.pump(into: pipe)
        let reply: RawReply?
        do throws(Problem) {
            reply = try await send(write, .upload(pipe, byteCount: exchange.announcedLength))
        } catch {
            reply = .problem(error, HeaderFields())
        }
        if case .problem = reply, exchange.body.isBroken {
            await answer(with: .problem(.brokenBody, HeaderFields()))
        } else {
            await answer(with: reply)
        }
        // An origin may answer before it has all of the body.
        exchange.body.hungUp()
        pipe.finish(isWhole: false)
        await pumping
        withExtendedLifetime(place) {}
    }

    private func send(
        _ write: PassedWrite,
        _ body: PassedWrite.Body
    ) async throws(Problem) -> RawReply? {
        try await exchange.engine.passedWrites.send(
            write,
            body,
            cancellation: exchange.cancellation
        )
    }

    // MARK: Reading

    /// Answers GET and HEAD; a GET whose body may say what it asks for is passed on.
    func readOrPass() async throws(Problem) {
        let hasBody = RequestFraming(exchange.head).isCoded || exchange.announcedLength ?? 0 > 0
        guard exchange.head.method == .GET, hasBody else { return try await read() }
        let fields = exchange.fields
        let mayAsk =
            fields["Larder-Policy"] != FetchPolicy.cacheOnly.rawValue
            && !fields.listed("Cache-Control").contains("only-if-cached")
        guard mayAsk else {
            throw Problem(.miss, "no answer to a GET with a body is cached", status: 504)
        }
        try await write()
    }

    func read(_ content: RequestContent? = nil) async throws(Problem) {
        let command = try RawCommand(uri: exchange.head.uri, headers: exchange.fields)
        let reply = try await exchange.engine.raw(
            command,
            content: content,
            fields: readFields,
            isHead: exchange.head.method == .HEAD,
            scope: exchange.scope(command.account),
            reader: loop.reader,
            cancellation: exchange.cancellation
        )
        await answer(with: reply)
    }

    /// `GET /v1/get`: a fetch with one body.
    func get() async throws(Problem) {
        var command: FetchCommand = try exchange.parameters(hint: FetchRoutes.encodeHint)
        command.options.account = try exchange.head.account(command.options.account)
        let order = try FetchOrder(command)
        guard !order.follows else {
            throw Problem(.badRequest, "follow: only GET and POST /v1/fetch take it")
        }
        let reply = try await exchange.engine.get(
            order,
            fields: readFields,
            isHead: exchange.head.method == .HEAD,
            scope: exchange.scope(order.account),
            reader: loop.reader,
            cancellation: exchange.cancellation
        )
        await answer(with: reply)
    }

    /// Only GET has a Range (RFC 9110 14.2), and only GET and HEAD have a 304 (13.1.2).
    private var readFields: HeaderFields {
        var fields = exchange.fields
        if exchange.head.method != .GET { fields.remove("Range") }
        if ![.GET, .HEAD].contains(exchange.head.method) {
            for name in ["If-None-Match", "If-Modified-Since"] { fields.remove(name) }
        }
        return fields
    }

    private func answer(with reply: RawReply?) async {
        switch reply {
        case .answer(let answer): await send(answer)
        case .problem(let problem, let fields):
            await exchange.respond(problem, HTTPHeaders(fields))
        // The client has hung up.
        case nil: await writer.abort()
        }
    }

    private func send(_ answer: RawAnswer) async {
        var status = HTTPResponseStatus(statusCode: answer.status)
        var headers = HTTPHeaders(answer.fields)
        headers.addGeneral(date: loop.date(at: exchange.engine.clock.now()))
        let byteCount: Int? =
            switch answer.body {
            case .empty: nil
            case .bytes(let bytes): bytes.count
            case .stored(let reader): reader.body.byteCount
            case .passed(_, let byteCount): byteCount.map { Int($0) }
            }
        var part: Range<Int>?
        if let verdict = verdict(on: answer, byteCount) {
            switch verdict {
            case .notModified, .whole: break
            case .part(let range): part = range
            case .refused(let problem, let fields): return await exchange.respond(problem, fields)
            }
            if answer.entry == nil || answer.status == 200 {
                headers.add(name: "Accept-Ranges", value: "bytes")
            }
        }
        if let part, let byteCount {
            status = .partialContent
            headers.add(part, of: byteCount)
        }
        switch answer.body {
        case .bytes(let bytes) where status.mayHaveResponseBody:
            await writer.respond(status, headers, body: part.map { Array(bytes[$0]) } ?? bytes)
        case .empty, .bytes:
            guard await writer.begin(status, headers, isFlushed: false) else { return }
            await writer.end()
        case .stored(let reader):
            if let part { reader.seek(to: part) }
            headers.add(name: "Content-Length", value: String(part?.count ?? reader.body.byteCount))
            await writer.copy(status, headers) { try await reader.next() }
        case .passed(let body, let byteCount):
            exchange.cancellation.whenGivenUp { body.giveUp() }
            if let byteCount { headers.add(name: "Content-Length", value: String(byteCount)) }
            await writer.copy(status, headers) { try await body.next() }
            body.giveUp()
        }
    }

    /// The verdict on an entry, or on a body that is being stored; nil for any other answer.
    ///
    /// The engine has decided on If-None-Match and If-Modified-Since; only a 200 has parts.
    private func verdict(on answer: RawAnswer, _ byteCount: Int?) -> ReadVerdict? {
        if let entry = answer.entry {
            return ReadVerdict(
                exchange.head,
                tag: entry.entityTag,
                byteCount: answer.status == 200 ? byteCount : nil,
                storedAt: entry.storedAt,
                lastModified: entry.lastModified
            )
        }
        guard answer.isOfRange, case .passed = answer.body else { return nil }
        return ReadVerdict(
            exchange.head,
            tag: answer.fields["ETag"] ?? "",
            byteCount: byteCount,
            storedAt: exchange.engine.clock.now(),
            lastModified: answer.fields["Last-Modified"]
        )
    }
}

extension Exchange {
    /// Hands the body on while it arrives, until it breaks off or no more of it is wanted.
    fileprivate func pump(into pipe: BodyPipe) async {
        do throws(Problem) {
            while let piece = try await body.next() {
                guard await pipe.offer(Array(piece.readableBytesView)) else { return }
            }
            pipe.finish(isWhole: true)
        } catch {
            pipe.finish(isWhole: false)
        }
    }
}

extension HTTPHeaders {
    fileprivate init(_ fields: HeaderFields) {
        self.init(fields.fields.map { ($0.name, $0.value) })
    }
}
