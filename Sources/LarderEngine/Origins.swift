import Dispatch
package import LarderAPI
package import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Logging
import Synchronization

package struct Origins: EnginePart {
    let context: EngineContext
    let keeping: OriginStore
    private let queue = DispatchQueue(label: "larder.origins")

    /// All origins and the public hosts that clients asked for lately, as far as `asker` may know
    /// them.
    ///
    /// Without an `asker` the reports are those for an administrator.
    package func reports(for asker: ClientStatus? = nil) -> [OriginReport] {
        let implicit = context.health.implicitOrigins.map { KnownOrigin($0, from: .implicit) }
        return (context.origins.known + implicit).map { report($0, for: asker) }
            .sorted { $0.name < $1.name }
    }

    package func report(
        _ name: OriginName,
        for asker: ClientStatus?
    ) throws(Problem) -> OriginReport {
        guard let report = reports(for: asker).first(where: { $0.name == name.text }) else {
            throw Problem(.noSuchOrigin, "there is no origin '\(name)'")
        }
        return report
    }

    private func report(_ origin: KnownOrigin, for asker: ClientStatus? = nil) -> OriginReport {
        let condition = context.originStates.condition(of: origin.name, toldTo: asker)
        let (source, file): (LarderAPI.OriginSource, String?) =
            switch origin.source {
            case .file(let path): (.file, path)
            case .api: (.api, nil)
            case .implicit: (.implicit, nil)
            }
        return OriginReport(
            name: origin.name.text,
            source: source,
            file: file,
            condition: condition,
            settings: OriginDefinition(origin.settings, coversSecrets: true)
        )
    }

    // MARK: Changes

    /// Adds an origin, or replaces one that was added; refused if another origin has the address.
    package func put(
        _ name: OriginName,
        _ definition: OriginDefinition,
        mayReplace: Bool = true
    ) async throws(Problem) -> (report: OriginReport, isNew: Bool) {
        let (origin, isNew) = try await changing { () throws(Problem) in
            if let old = context.origins[name] {
                guard mayReplace else {
                    throw Problem(
                        .preconditionFailed,
                        "there is an origin '\(name)' already",
                        hint: "Replace it: cachectl origin add --replace NAME URL    or choose "
                            + "another name."
                    )
                }
                try refuseFixed(old)
            }
            let isNew = context.origins[name] == nil
            return (try save(name, definition), isNew)
        }
        return (report(origin), isNew)
    }

    /// Removes an added origin; its cached entries stay.
    package func remove(_ name: OriginName) async throws(Problem) {
        try await changing { () throws(Problem) in
            guard let old = context.origins[name] else {
                throw Problem(.noSuchOrigin, "there is no origin '\(name)'")
            }
            try refuseFixed(old)
            try keeping.remove(name)
            context.replaceOrigins(context.origins.without(name))
        }
        if context.originStates.isManuallyOffline(name) {
            try await remember(name, isOffline: false)
        }
    }

    /// Reloads the configuration with `body`, which may refuse it.
    ///
    /// `body` runs between the other changes of the table. It replaces the origins of the old
    /// configuration; added origins stay. `replace` returns the names of the changed origins, or
    /// throws why none of them may be taken.
    package func reload<Value: Sendable>(
        _ body:
            @escaping @Sendable (
                _ replace: ([KnownOrigin]) throws(Problem) -> [OriginName]
            ) throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        try await changing { () throws(Problem) in
            try body { (configured) throws(Problem) in try replace(configured) }
        }
    }

    private func replace(_ configured: [KnownOrigin]) throws(Problem) -> [OriginName] {
        let old = context.origins
        let added = old.known.filter { $0.source == .api }
        for origin in configured {
            let address = origin.settings.baseURL.baseAddress
            let other = added.first {
                $0.name == origin.name || $0.settings.baseURL.baseAddress == address
            }
            guard let other else { continue }
            throw Problem(
                .originExists,
                "origins.\(origin.name) has the name or the base_url of '\(other.name)', which was "
                    + "added while the daemon ran; remove that first: cachectl origin rm \(other.name)"
            )
        }
        let new = OriginTable(configured + added, owner: old.owner)
        let names = Set(old.known.map(\.name)).union(configured.map(\.name)).sorted()
        let changed = names.filter { new[$0]?.settings != old[$0]?.settings }
        if old.known != new.known { context.replaceOrigins(new) }
        return changed
    }

    /// Changes the table of origins, one change after the other.
    ///
    /// Changes run on a queue of their own, because they wait for the disk.
    private func changing<Value: Sendable>(
        _ work: @escaping @Sendable () throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let result: Result<Value, Problem> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(Problem) in try work() })
            }
        }
        return try result.get()
    }

    private func save(
        _ name: OriginName,
        _ definition: OriginDefinition
    ) throws(Problem) -> KnownOrigin {
        let table = context.origins
        let settings = try keeping.read(name, definition)
        let other = table.origins.first { other in
            other.name != settings.name
                && other.baseURL.baseAddress == settings.baseURL.baseAddress
        }
        if let other {
            throw Problem(
                .originExists,
                "the origin '\(other.name)' has this base_url; an address belongs to one origin",
                hint: "Use that one, or remove it first: cachectl origin rm \(other.name)"
            )
        }
        let count = table.known.count { $0.source == .api && $0.name != settings.name }
        guard count < Limits.originFilesMax else {
            throw Problem(.overloaded, "\(Limits.originFilesMax) origins were added already")
        }
        try keeping.save(settings)
        let origin = KnownOrigin(settings, from: .api)
        context.replaceOrigins(table.with(origin))
        return origin
    }

    private func refuseFixed(_ origin: KnownOrigin) throws(Problem) {
        switch origin.source {
        case .api: return
        case .file(let path):
            throw Problem(
                .originInFile,
                "the origin '\(origin.name)' is defined in \(path)",
                hint: "Change it there, then reload the daemon: cachectl reload."
            )
        case .implicit: throw Problem(.noSuchOrigin, "there is no origin '\(origin.name)'")
        }
    }

    // MARK: Offline by operator

    /// Sets an origin offline, so that no request leaves for it, or online again.
    ///
    /// The setting survives a restart of the daemon.
    package func setOffline(
        _ name: OriginName,
        _ isOffline: Bool,
        for uid: UInt32
    ) async throws(Problem) -> OriginReport {
        let origin = try context.origin(named: name, for: uid)
        if context.originStates.isManuallyOffline(name) != isOffline {
            let count = context.offline.withLock { $0.count }
            guard !isOffline || count < Limits.offlineOriginsMax else {
                throw Problem(
                    .overloaded,
                    "\(Limits.offlineOriginsMax) origins are offline already"
                )
            }
            try await remember(name, isOffline: isOffline)
        }
        return report(context.origins[name] ?? KnownOrigin(origin, from: .implicit))
    }

    /// Requests stop before the setting is on disk, and start again only after its end is on disk.
    private func remember(_ name: OriginName, isOffline: Bool) async throws(Problem) {
        if isOffline { shut(name, true) }
        do throws(StoreError) {
            try await store.setOffline(name.text, isOffline)
        } catch {
            if isOffline { shut(name, false) }
            throw Problem(error)
        }
        if !isOffline { shut(name, false) }
        logger.notice(
            "an origin was set offline or online",
            metadata: .larder([.origin: "\(name)", .state: isOffline ? "offline" : "online"])
        )
    }

    private func shut(_ name: OriginName, _ isOffline: Bool) {
        context.offline.withLock { names in
            if isOffline { names.insert(name) } else { names.remove(name) }
        }
        context.health.change(name) { $0.wasSetByHand(now: clock.now()) }
        context.originStates.changed(name)
        guard !isOffline else {
            return context.modifiers.post(.told { $0.originSetOffline(name, now: $1) })
        }
        context.modifiers.post(.originReturned(name) { $0.originWoken(name, now: $1) })
        context.keeper.post(.originAnswered(name))
    }

    /// Origins that were offline when the daemon last ended.
    static func offlineOrigins(_ store: Store, _ logger: Logger) -> Set<OriginName> {
        do throws(StoreError) {
            return Set(try store.offlineOrigins().compactMap { try? OriginName($0) })
        } catch {
            logger.error(
                "which origins were set offline cannot be read",
                metadata: .larder([.reason: "\(error.message)"])
            )
            return []
        }
    }

    // MARK: Asking whether it answers

    /// Asks an origin now, whatever its state, over a new connection, and stores nothing.
    ///
    /// `path` is the path on the host, under the base URL; nil asks for the base URL itself.
    package func check(
        _ name: OriginName,
        path: String?,
        for uid: UInt32
    ) async throws(Problem) -> OriginCheckReport {
        let origin = try context.origin(named: name, for: uid)
        guard !context.originStates.isManuallyOffline(name) else { throw Problem(offline: name) }
        let url = try checkedURL(path, of: origin)
        let began = clock.monotonic()
        let check = await context.upstream.check(
            UpstreamRequest(origin: origin, url: url, timeout: origin.fetch.timeout)
        )
        var report = OriginCheckReport(
            name: name.text,
            url: url.text,
            latencyMs: (clock.monotonic() - began).tenthsOfMilliseconds,
            peerIsProxy: check.connection != nil && origin.proxy != nil
        )
        report.peer = check.connection?.peer
        report.protocol = check.connection?.httpVersion
        report.tls = check.connection?.tlsVersion
        switch check.outcome {
        case .answered(let status, let headers):
            report.status = status
            if !context.originStates.noteProbe(of: origin, status, headers) {
                report.problem = Problem(.captive(host: url.host), url: url)
            }
        case .failed(let error):
            context.originStates.noteFailure(of: name, error)
            report.problem = Problem(FlightFailure(error), url: url)
        }
        return report
    }

    private func checkedURL(_ path: String?, of origin: OriginSettings) throws(Problem) -> WebURL {
        guard let path else { return origin.baseURL }
        guard path.utf8.first == UInt8(ascii: "/"),
            let url = try? WebURL(origin.baseURL.originText + path),
            origin.baseURL.isPrefix(of: url), !url.hasDotSegments
        else {
            throw Problem(
                .badRequest,
                "path: '\(path)' does not lie under \(origin.baseURL)",
                hint: "Give a path that begins with that of the origin's base_url."
            )
        }
        return url
    }
}

/// Reads the settings that the API gets, and keeps them over restarts.
///
/// The engine knows no files, so the daemon gives it these functions.
///
/// One thread at a time calls each of them, off the event loops. They return once the change is on
/// disk.
package struct OriginStore: Sendable {
    /// Checks the keys of an origin, and makes settings of them.
    package var read: @Sendable (OriginName, OriginDefinition) throws(Problem) -> OriginSettings
    package var save: @Sendable (OriginSettings) throws(Problem) -> Void
    package var remove: @Sendable (OriginName) throws(Problem) -> Void

    package init(
        read: @escaping @Sendable (OriginName, OriginDefinition) throws(Problem) -> OriginSettings,
        save: @escaping @Sendable (OriginSettings) throws(Problem) -> Void,
        remove: @escaping @Sendable (OriginName) throws(Problem) -> Void
    ) {
        self.read = read
        self.save = save
        self.remove = remove
    }
}
