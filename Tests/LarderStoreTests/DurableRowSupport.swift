import LarderTestSupport

@testable import LarderStore

/// An invariant of what is durable that does not hold.
struct BrokenInvariants: Error {
    let sentences: [String]
}

extension Store {
    /// Throws where an invariant of `EntryWriter` is broken; without a file nothing is shown.
    func requireInvariants() async throws {
        guard shared.generation.hasFile else { return }
        let broken: [String]
        do throws(StoreError) {
            broken = try await commits.submit { writer throws(StoreError) in
                try writer.brokenInvariants()
            }
        } catch {
            // A disk that fails now shows nothing.
            return
        }
        if !broken.isEmpty { throw BrokenInvariants(sentences: broken) }
    }
}
