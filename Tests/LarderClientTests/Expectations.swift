import LarderClient
import Testing

/// Runs `body` and expects a problem of this type from it.
func expectProblem<Value>(
    _ type: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws(LarderError) -> Value
) async {
    do throws(LarderError) {
        _ = try await body()
        Issue.record("there was no error", sourceLocation: sourceLocation)
    } catch {
        guard let problem = error.problem else {
            Issue.record("\(error)", sourceLocation: sourceLocation)
            return
        }
        #expect(problem.type == type, sourceLocation: sourceLocation)
    }
}
