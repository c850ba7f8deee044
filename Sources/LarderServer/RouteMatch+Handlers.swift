import LarderAPI
import LarderEngine
import LarderWire

extension RouteMatch {
    /// Answers a request, or says why not.
    func answer(_ exchange: Exchange, _ loop: LoopReader) async throws(Problem) {
        if checks.refusesParameters { try exchange.refuseParameters() }
        if checks.isForAdministrators { try exchange.requireAdministrator() }
        var entries: EntryRoutes { EntryRoutes(exchange, loop) }
        var modifiers: ModifierRoutes { ModifierRoutes(exchange) }
        var pins: PinRoutes { PinRoutes(exchange) }
        var origins: OriginRoutes { OriginRoutes(exchange) }
        var administration: AdministrationRoutes { AdministrationRoutes(exchange, loop) }
        switch name {
        case .readBatch: try await entries.batch()
        case .explainEntry: try await entries.explain(try id)
        case .readEntry: try await entries.read(try id)
        case .putEntry: try await entries.put(try id)
        case .removeEntry: try await entries.remove(try id)
        case .listEntries: try await entries.list()
        case .fetchByQuery, .fetchByBody:
            try await FetchRoutes(exchange, loop).answer(byQuery: name == .fetchByQuery)
        case .watchByQuery, .watchByBody:
            try await WatchRoutes(exchange).answer(byQuery: name == .watchByQuery)
        case .listModifiers: try await modifiers.list()
        case .acceptModifiers: try await modifiers.accept()
        case .actOnModifiers: try await modifiers.act()
        case .showModifier: try await modifiers.show(try modifier)
        case .removeModifier: try await modifiers.remove(try modifier)
        case .listLanes: try await modifiers.listLanes()
        case .setLane: try await modifiers.setLane(try lane)
        case .listPins: try await pins.list()
        case .pin: try await pins.pin(try id)
        case .unpin: try await pins.unpin(try id)
        case .listOrigins: try await origins.list()
        case .showOrigin: try await origins.show(try origin)
        case .changeOrigin: try await origins.change(try origin)
        case .checkOrigin: try await origins.check(try origin)
        case .putOrigin: try await origins.put(try origin)
        case .removeOrigin: try await origins.remove(try origin)
        case .evict: try await administration.evict()
        case .status: try await administration.status()
        case .stats: try await exchange.respond(with: exchange.stats())
        case .usage: try await administration.usage()
        case .check: try await administration.check()
        case .reload: try await administration.reload()
        case .purge: try await administration.purge()
        case .health: try await administration.health()
        case .version:
            let version = exchange.engine.monitor.version
            try await exchange.respond(with: VersionReport(version: version))
        case .document: await exchange.respond(APIDocument.bytes)
        case .get: try await RawRoutes(exchange, loop).get()
        case .raw: try await RawRoutes(exchange, loop).read()
        case .rawPost, .rawPut, .rawPatch, .rawDelete:
            try await RawRoutes(exchange, loop).write()
        }
    }
}
