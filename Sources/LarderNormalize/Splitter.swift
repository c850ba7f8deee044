import LarderJSON
package import LarderModel

/// Splits answers of one origin into entities and what is their own.
package struct Splitter: Sendable {
    private let rules: EntityRules
    private let bodyBytesMax: Int

    /// An answer of more than `bodyBytesMax` bytes stays whole.
    package init(_ rules: EntityRules, bodyBytesMax: Int = Int(UInt32.max)) {
        self.rules = rules
        self.bodyBytesMax = min(bodyBytesMax, Int(UInt32.max))
    }

    /// Splits an answer.
    ///
    /// - Parameters:
    ///   - body: The answer's bytes, as the origin sent them.
    ///   - path: The path of its URL after the base URL, without the query: `/articles/42`.
    ///   - query: The query of its URL; nil if the body is not an origin's answer to a read.
    ///   - key: The key of the whole body, if a client sets an entity under its key. Only an object
    ///     is split then.
    /// - Returns: The parts, or why the answer stays whole.
    package func split(
        _ body: [UInt8],
        path: String,
        query: Substring? = nil,
        as key: EntityKey? = nil
    ) -> SplitOutcome {
        guard body.count <= bodyBytesMax else { return .whole(.tooLarge, SplitReport()) }
        return body.withUnsafeBytes { bytes in
            let tape: JSONTape
            do throws(JSONTape.Failure) {
                tape = try JSONTape(bytes)
            } catch {
                return .whole(WholeReason(error), SplitReport())
            }
            let recognition = EntityRecognition(
                rules: rules,
                paths: rules.paths(for: path),
                tape: tape,
                bytes: bytes
            )
            var run = SplitRun(recognition, rootKey: key)
            guard run.visitAll() else { return .whole(.entitiesTooDeep, run.report) }
            guard !run.occurrences.isEmpty else { return .whole(.noEntity, run.report) }
            return .split(Split(body: body, rules: rules, query: query, run))
        }
    }
}

extension Splitter {
    /// Key of a body by the rules; nil if it is not an entity or not JSON.
    package func key(of body: [UInt8], path: String) -> EntityKey? {
        guard body.count <= bodyBytesMax else { return nil }
        return body.withUnsafeBytes { bytes in
            guard let tape = try? JSONTape(bytes), tape.items[0].kind == .beginObject else {
                return nil
            }
            let recognition = EntityRecognition(
                rules: rules,
                paths: rules.paths(for: path),
                tape: tape,
                bytes: bytes
            )
            guard case .entity(let key, _) = recognition.verdict(on: 0, at: []) else { return nil }
            return key
        }
    }
}

extension WholeReason {
    fileprivate init(_ failure: JSONTape.Failure) {
        switch failure {
        case .json(.tooDeep): self = .tooDeep
        case .json(let error): self = .notJSON(error)
        case .tooManyValues: self = .tooManyValues
        }
    }
}
