import CSchema
import LarderAPI
import LarderEngine

extension RouteMatch {
    func answer(_ exchange: Exchange, _ loop: LoopReader) async throws(Problem) {
        if checks.refusesParameters { try exchange.refuseParameters() }
        if checks.isForAdministrators { try exchange.requireAdministrator() }
        var entries: EntryRoutes { EntryRoutes(exchange: exchange, loop: loop) }
        var modifiers: ModifierRoutes { ModifierRoutes(exchange: exchange) }
        var pins: PinRoutes { PinRoutes(exchange: exchange) }
        var origins: OriginRoutes { OriginRoutes(exchange: exchange) }
        var credentials: CredentialRoutes { CredentialRoutes(exchange: exchange) }
        var raw: RawRoutes { RawRoutes(exchange: exchange, loop: loop) }
        var administration: AdministrationRoutes {
            AdministrationRoutes(exchange: exchange, loop: loop)
        }
        switch name {
        case .readBatch: try await entries.batch()
        case .explainEntry: try await entries.explain(try id)
        case .readEntry: try await entries.read(try id)
        case .putEntry: try await entries.put(try id)
        case .removeEntry: try await entries.remove(try id)
        case .listEntries: try await entries.list()
        case .fetchByQuery, .fetchByBody:
            try await FetchRoutes(exchange: exchange, loop: loop)
                .answer(byQuery: name == .fetchByQuery)
        case .watchByQuery, .watchByBody:
            try await WatchRoutes(exchange: exchange).answer(byQuery: name == .watchByQuery)
        case .listModifiers: try await modifiers.list()
        case .acceptModifiers: try await modifiers.accept()
        case .actOnModifiers: try await modifiers.act()
        case .showModifier: try await modifiers.show(try modifier)
        case .editModifier: try await modifiers.edit(try modifier)
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
        case .showCredential: try await credentials.show(try origin)
        case .putCredential: try await credentials.put(try origin)
        case .removeCredential: try await credentials.remove(try origin)
        case .renewCredential: try await credentials.renew(try origin)
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
        case .get: try await raw.get()
        case .raw: try await raw.read()
        case .rawPost, .rawPut, .rawPatch, .rawDelete: try await raw.write()
        }
    }
}

/// The OpenAPI 3.1 document of the API, as `schema/openapi.json` has it.
///
/// `scripts/generate-openapi` writes the file from the tables of routes and problems and the types of
/// `LarderAPI`. `CSchema` embeds it.
enum APIDocument {
    static let bytes: [UInt8] = {
        let document = larder_api_document()
        return Array(UnsafeRawBufferPointer(start: document.bytes, count: document.count))
    }()
}
