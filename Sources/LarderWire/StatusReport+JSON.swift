import LarderJSON
import LarderModel

extension StatusReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("version", version)
            json.member("uptime", uptime.components.seconds)
            json.member("state", state.rawValue)
            json.member("cache") { cache.write(to: &$0) }
            json.member("pins") { pins.write(to: &$0) }
            json.member("queue") { queue.write(to: &$0) }
            json.member("connections", connections)
            json.member("flights", flights)
            json.name("origins")
            json.beginArray()
            for origin in origins { json.object { origin.write(to: &$0) } }
            json.endArray()
            json.member("warnings", warnings)
            json.name("findings")
            json.beginArray()
            for finding in findings { json.object { finding.write(to: &$0) } }
            json.endArray()
            if let configuration { json.member("configuration") { configuration.write(to: &$0) } }
            if let you { json.member("you") { you.write(to: &$0) } }
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        version = try object.string("version")
        uptime = .seconds(try object.integer("uptime") as Int64)
        state = try object.required("state") { State(rawValue: $0) }
        cache = try Cache(object.object("cache"))
        pins = try Pins(object.object("pins"))
        queue = try Queue(object.object("queue"))
        connections = try object.integer("connections")
        flights = try object.integer("flights")
        origins = []
        for origin in try object.objects("origins") { origins.append(try Origin(origin)) }
        warnings = try object.strings("warnings")
        // A daemon of before does not say.
        if try object.value("findings") != nil {
            for finding in try object.objects("findings") {
                findings.append(try CheckReport.Finding(finding))
            }
        }
        configuration = try object.optionalObject("configuration").map { object throws(WireError) in
            try Configuration(object)
        }
        you = try object.optionalObject("you").map { object throws(WireError) in
            try You(object)
        }
    }
}

extension StatusReport.Cache {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("bytes", bytes)
        json.member("max_bytes", maxBytes)
        json.member("entries", entries)
        json.member("database_bytes", databaseBytes)
        json.member("wal_bytes", walBytes)
        json.member("evictions", evictions)
        json.member("hits", hits)
        json.member("misses", misses)
        json.member("hit_rate") { json in
            json.member("1m", hitRate.oneMinute)
            json.member("10m", hitRate.tenMinutes)
            json.member("60m", hitRate.sixtyMinutes)
        }
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        bytes = try object.integer("bytes")
        maxBytes = try object.integer("max_bytes")
        entries = try object.integer("entries")
        databaseBytes = try object.integer("database_bytes")
        walBytes = try object.integer("wal_bytes")
        evictions = try object.integer("evictions")
        hits = try object.integer("hits")
        misses = try object.integer("misses")
        let rates = try object.object("hit_rate")
        hitRate = StatusReport.HitRate(
            oneMinute: try rates.optionalDouble("1m"),
            tenMinutes: try rates.optionalDouble("10m"),
            sixtyMinutes: try rates.optionalDouble("60m")
        )
    }
}

extension StatusReport.Pins {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("count", count)
        json.member("bytes", bytes)
        json.member("max_bytes", maxBytes)
        json.member("waiting", waiting)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        count = try object.integer("count")
        bytes = try object.integer("bytes")
        maxBytes = try object.integer("max_bytes")
        waiting = try object.integer("waiting")
    }
}

extension StatusReport.Queue {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("unsettled", unsettled)
        json.member("dead", dead)
        json.member("states") { json in
            for state in Self.states { json.member(state.rawValue, byState[state] ?? 0) }
        }
        json.member("stalled", stalled)
        json.member("oldest_age_ms", oldestAge?.milliseconds)
        json.member("max_modifiers", maxModifiers)
        json.member("bytes", bytes)
        json.member("max_bytes", maxBytes)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init()
        let states = try object.object("states")
        for state in Self.states {
            let count: Int64 = try states.integer(state.rawValue)
            if count != 0 { byState[state] = count }
        }
        stalled = try object.integer("stalled")
        let age: Int64? = try object.optionalInteger("oldest_age_ms")
        oldestAge = age.map { .milliseconds($0) }
        maxModifiers = try object.integer("max_modifiers")
        bytes = try object.integer("bytes")
        maxBytes = try object.integer("max_bytes")
    }
}

extension StatusReport.Origin {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("name", name.text)
        json.member("base_url", baseURL.text)
        condition.write(to: &json)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        name = try object.required("name") { try? OriginName($0) }
        baseURL = try object.required("base_url") { try? WebURL($0) }
        condition = try OriginCondition(object)
    }
}
