import ArgumentParser
import LarderClient
import LarderModel

/// Options that make an argument an entity's key; without them it is a key if no row has it as its
/// id.
struct KeyOptions: ParsableArguments {
    @Flag(help: "The argument is an entity's key, Type:id.")
    var key = false

    @Option(
        help: ArgumentHelp(
            "The argument is the key of an entity of this origin; needed where several have rules.",
            valueName: "name"
        )
    )
    var origin: String?

    var isForced: Bool { key || origin != nil }

    /// Reads an argument as an id, or where nothing is under the id, as a key.
    func found<Value>(
        _ text: String,
        of client: LarderClient,
        _ read: (_ id: String) async throws(LarderError) -> Value
    ) async throws -> Value {
        guard !isForced else { return try await read(client.entityID(text, origin: origin)) }
        let miss: LarderError
        do throws(LarderError) {
            return try await read(text)
        } catch {
            guard case .miss = error, case .id = EntryArgument(text) else { throw error }
            miss = error
        }
        if let url = EntryArgument(text).meantURL {
            throw CommandFailure(
                .notFound,
                "nothing is cached under the id '\(text)', did you mean \(url)?"
            )
        }
        guard (try? EntityKey(text)) != nil else { throw miss }
        let origins = try await client.entityOrigins()
        guard let origin = origins.first else { throw miss }
        guard origins.count == 1 else {
            throw CommandFailure(
                .notFound,
                "nothing is cached under the id '\(text)', and whose key it is has to be said",
                hint: "Name the origin: --origin NAME"
            )
        }
        do throws(LarderError) {
            return try await read(LarderClient.entityID(text, of: origin))
        } catch .miss {
            throw miss
        }
    }
}

extension LarderClient {
    /// Names of the origins that have rules for entities.
    fileprivate func entityOrigins() async throws(LarderError) -> [String] {
        try await origins().filter { $0.settings.normalize != nil }.map(\.name)
    }

    /// The id of an entity by its key; without an origin, of the only one that has rules.
    func entityID(_ key: String, origin: String?) async throws -> String {
        LarderClient.entityID(key, of: try await entityOrigin(origin))
    }

    /// The origin that is named, or the only one that has rules.
    func entityOrigin(_ origin: String?) async throws -> String {
        if let origin { return origin }
        let names = try await entityOrigins()
        guard let only = names.first, names.count == 1 else {
            throw CommandFailure(
                .usage,
                names.isEmpty
                    ? "no origin has rules for entities"
                    : "more than one origin has entities: \(names.joined(separator: ", "))",
                hint: "Name it: --origin NAME    See which there are: cachectl origin list"
            )
        }
        return only
    }
}
