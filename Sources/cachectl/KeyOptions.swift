import ArgumentParser
import LarderClient
import LarderWire

/// How an argument is known to be an entity's key; without either it is one if no row has it as its
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

    /// What `byID` gives, or where nothing is under the id, what `byKey` gives.
    func found<Value>(
        _ text: String,
        byID: () async throws(LarderError) -> Value,
        byKey: () async throws(LarderError) -> Value
    ) async throws -> Value {
        guard !isForced else { return try await byKey() }
        let miss: LarderError
        do throws(LarderError) {
            return try await byID()
        } catch {
            guard case .miss = error else { throw error }
            miss = error
        }
        if let url = EntryArgument(text).meantURL {
            throw CommandFailure(
                .notFound,
                "nothing is cached under the id '\(text)', did you mean \(url)?"
            )
        }
        do throws(LarderError) {
            return try await byKey()
        } catch {
            switch error.problem?.kind {
            case .originNeeded:
                throw CommandFailure(
                    .notFound,
                    "nothing is cached under the id '\(text)', and whose key it is has to be said",
                    hint: "Name the origin: --origin NAME"
                )
            // A daemon that knows no entities has no such route.
            case .miss, .badID, .notFound: throw miss
            default: throw error
            }
        }
    }
}
