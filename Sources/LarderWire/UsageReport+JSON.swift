import LarderJSON
import LarderModel

extension UsageReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            rows.write(to: &json)
            Self.write(byKind, "by_kind", "kind", to: &json)
            Self.write(byOrigin, "by_origin", "origin", to: &json)
            json.name("by_user")
            json.beginArray()
            for owned in byUser {
                json.object { json in
                    owned.scope.write(to: &json)
                    owned.rows.write(to: &json)
                }
            }
            json.endArray()
            json.member("cache") { json in
                json.member("bytes", cacheBytes)
                json.member("max_bytes", cacheBytesMax)
                json.member("budget_bytes", budgetBytes)
            }
            json.member("normalized") { normalized.write(to: &$0) }
            json.member("pins") { pins.write(to: &$0) }
            json.name("files")
            json.beginArray()
            for file in files { json.object { file.write(to: &$0) } }
            json.endArray()
            json.member("disk") { json in
                json.name("free_bytes")
                if let diskFreeBytes { json.integer(diskFreeBytes) } else { json.null() }
                json.member("min_free_bytes", minFreeBytes)
            }
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        rows = try UsageRows(object)
        byKind = try Self.groups(object, "by_kind", "kind")
        byOrigin = try Self.groups(object, "by_origin", "origin")
        byUser = []
        for owned in try object.objects("by_user") {
            guard let scope = try Scope.read(owned) else { throw .missingMember("scope") }
            byUser.append(Owned(scope: scope, rows: try UsageRows(owned)))
        }
        let cache = try object.object("cache")
        cacheBytes = try cache.integer("bytes")
        cacheBytesMax = try cache.integer("max_bytes")
        budgetBytes = try cache.integer("budget_bytes")
        normalized = try NormalizedUsage(object.object("normalized"))
        pins = try Pins(object.object("pins"))
        files = []
        for file in try object.objects("files") { files.append(try File(file)) }
        let disk = try object.object("disk")
        diskFreeBytes = try disk.optionalInteger("free_bytes")
        minFreeBytes = try disk.integer("min_free_bytes")
    }

    private static func write(
        _ groups: [UsageGroup],
        _ name: String,
        _ member: String,
        to json: inout JSONWriter
    ) {
        json.name(name)
        json.beginArray()
        for group in groups {
            json.object { json in
                json.member(member, group.name)
                group.rows.write(to: &json)
            }
        }
        json.endArray()
    }

    private static func groups(
        _ object: WireObject,
        _ name: String,
        _ member: String
    ) throws(WireError) -> [UsageGroup] {
        var groups: [UsageGroup] = []
        for group in try object.objects(name) {
            groups.append(
                UsageGroup(name: try group.optionalString(member), rows: try UsageRows(group))
            )
        }
        return groups
    }
}

extension UsageRows {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("entries", entries)
        json.member("bytes", bytes)
        json.member("body_bytes", bodyBytes)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(
            entries: try object.integer("entries"),
            bytes: try object.integer("bytes"),
            bodyBytes: try object.integer("body_bytes")
        )
    }
}

extension UsageReport.Pins {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("count", count)
        json.member("waiting", waiting)
        json.member("bytes", bytes)
        json.member("total_bytes", totalBytes)
        json.member("max_bytes", maxBytes)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        count = try object.integer("count")
        waiting = try object.integer("waiting")
        bytes = try object.integer("bytes")
        totalBytes = try object.integer("total_bytes")
        maxBytes = try object.integer("max_bytes")
    }
}

extension NormalizedUsage {
    private static var parts: KeyValuePairs<String, WritableKeyPath<Self, Count>> {
        ["entities": \.entities, "skeletons": \.skeletons, "references": \.references]
    }

    fileprivate func write(to json: inout JSONWriter) {
        for (name, part) in Self.parts {
            json.member(name) { json in
                json.member("count", self[keyPath: part].count)
                json.member("bytes", self[keyPath: part].bytes)
            }
        }
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init()
        for (name, part) in Self.parts {
            let object = try object.object(name)
            self[keyPath: part] = Count(
                count: try object.integer("count"),
                bytes: try object.integer("bytes")
            )
        }
    }
}

extension UsageReport.File {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("name", name)
        json.member("bytes", bytes)
        json.member("wal_bytes", walBytes)
        json.name("free_bytes")
        if let freeBytes { json.integer(freeBytes) } else { json.null() }
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        name = try object.string("name")
        bytes = try object.integer("bytes")
        walBytes = try object.integer("wal_bytes")
        freeBytes = try object.optionalInteger("free_bytes")
    }
}
