import LarderJSON
import LarderModel

extension StatsReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("uptime", uptime.components.seconds)
            json.member("connections") { json in
                json.member("open", connections.open)
                json.member("accepted", connections.accepted)
                json.member("refused", connections.refused)
            }
            json.member("bytes") { json in
                json.member("received", bytes.received)
                json.member("sent", bytes.sent)
            }
            json.name("requests")
            json.beginArray()
            for requests in requests { json.object { requests.write(to: &$0) } }
            json.endArray()
            json.member("lookups") { json in
                json.member("hits", lookups.hits)
                json.member("ready", lookups.ready)
                json.member("misses", lookups.misses)
            }
            json.member("ready_answers") { json in
                for (name, path) in Self.readyNames {
                    json.member(name, readyAnswers[keyPath: path])
                }
            }
            json.name("fetches")
            json.beginArray()
            for fetches in fetches { json.object { fetches.write(to: &$0) } }
            json.endArray()
            json.member("flights") { json in
                json.member("open", flights.open)
                json.member("started", flights.started)
                json.member("joined", flights.joined)
            }
            json.member("latencies") { json in
                for (name, path) in Self.latencyNames {
                    json.member(name) { latencies[keyPath: path].write(to: &$0) }
                }
            }
            json.member("evictions") { json in
                json.member("lru", evictions.lru)
                json.member("expired", evictions.expired)
                json.member("asked", evictions.asked)
            }
            json.member("groups") { groups.write(to: &$0) }
            json.member("modifiers") { json in
                for (name, path) in Self.modifierNames {
                    json.member(name, modifiers[keyPath: path])
                }
            }
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        self.init()
        uptime = .seconds(try object.integer("uptime") as Int64)
        let connections = try object.object("connections")
        self.connections.open = try connections.integer("open")
        self.connections.accepted = try connections.integer("accepted")
        self.connections.refused = try connections.integer("refused")
        let sizes = try object.object("bytes")
        self.bytes.received = try sizes.integer("received")
        self.bytes.sent = try sizes.integer("sent")
        for requests in try object.objects("requests") {
            self.requests.append(try Requests(requests))
        }
        let lookups = try object.object("lookups")
        self.lookups.hits = try lookups.integer("hits")
        self.lookups.ready = try lookups.optionalInteger("ready") ?? 0
        self.lookups.misses = try lookups.integer("misses")
        if let readyAnswers = try object.optionalObject("ready_answers") {
            for (name, path) in Self.readyNames {
                self.readyAnswers[keyPath: path] = try readyAnswers.integer(name)
            }
        }
        for fetches in try object.objects("fetches") {
            self.fetches.append(try Fetches(fetches))
        }
        let flights = try object.object("flights")
        self.flights.open = try flights.integer("open")
        self.flights.started = try flights.integer("started")
        self.flights.joined = try flights.integer("joined")
        let latencies = try object.object("latencies")
        for (name, path) in Self.latencyNames {
            self.latencies[keyPath: path] = try Latency(latencies.object(name))
        }
        let evictions = try object.object("evictions")
        self.evictions.lru = try evictions.integer("lru")
        self.evictions.expired = try evictions.integer("expired")
        self.evictions.asked = try evictions.integer("asked")
        groups = try Groups(object.object("groups"))
        let modifiers = try object.object("modifiers")
        for (name, path) in Self.modifierNames {
            self.modifiers[keyPath: path] = try modifiers.integer(name)
        }
    }

    private static var readyNames: [(String, WritableKeyPath<ReadyAnswers, Int64>)] {
        [("missing", \.missing), ("expired", \.expired), ("stale", \.stale), ("bytes", \.bytes)]
    }

    private static var modifierNames: [(String, WritableKeyPath<Modifiers, Int64>)] {
        [
            ("accepted", \.accepted), ("confirmed", \.confirmed), ("dead", \.dead),
            ("cancelled", \.cancelled), ("reverts", \.reverts), ("attempts", \.attempts),
        ]
    }

    private static var latencyNames: [(String, WritableKeyPath<Latencies, Latency>)] {
        [("hit", \.hit), ("fetch", \.fetch), ("put", \.put), ("network", \.network)]
    }
}

extension StatsReport.Requests {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("family", family)
        for (name, count) in zip(Self.classes, byClass) { json.member(name, count) }
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(family: try object.string("family"))
        for (index, name) in Self.classes.enumerated() {
            byClass[index] = try object.integer(name)
        }
    }
}

extension StatsReport.Fetches {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("policy", policy.rawValue)
        json.member("source", source.rawValue)
        json.member("outcome", outcome.rawValue)
        json.member("count", count)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        policy = try object.required("policy") { FetchPolicy(rawValue: $0) }
        source = try object.required("source") { FetchSource(rawValue: $0) }
        outcome = try object.required("outcome") { FetchResolution(rawValue: $0) }
        count = try object.integer("count")
    }
}

extension StatsReport.Latency {
    private static var names: [(String, WritableKeyPath<StatsReport.Latency, Duration?>)] {
        [
            ("p50_ms", \.median), ("p90_ms", \.ninetieth), ("p99_ms", \.ninetyNinth),
            ("max_ms", \.max),
        ]
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.member("count", count)
        for (name, path) in Self.names {
            json.member(name, self[keyPath: path]?.hundredthsOfMicroseconds)
        }
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        count = try object.integer("count")
        for (name, path) in Self.names {
            self[keyPath: path] = try object.optionalDouble(name).map { .milliseconds($0) }
        }
    }
}

extension StatsReport.Groups {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("count", count)
        json.member("p50", median)
        json.member("p90", ninetieth)
        json.member("p99", ninetyNinth)
        json.member("max", max)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        count = try object.integer("count")
        median = try object.optionalInteger("p50")
        ninetieth = try object.optionalInteger("p90")
        ninetyNinth = try object.optionalInteger("p99")
        max = try object.optionalInteger("max")
    }
}

extension JSONWriter {
    /// A whole number, or null.
    fileprivate mutating func member(_ name: String, _ number: Int64?) {
        self.name(name)
        if let number { integer(number) } else { null() }
    }
}

extension Duration {
    /// Milliseconds with at most five decimals.
    fileprivate var hundredthsOfMicroseconds: Double {
        let tens = min(max(self / .nanoseconds(10), 0), 1e15)
        return Double(Int64(tens + 0.5)) / 100_000
    }
}
