import LarderTestSupport
import Testing

/// A judge that knows neither base nor view: once every write has ended and all has been read, each
/// account sees what the server has.
///
/// Accounts, or two users of shared rows, create to-dos under temporary ids, edit, tag and delete
/// them, and write a note, while other devices do the same, and while the network, the server and
/// the credentials fail. The daemon is restarted or killed. On the way, the judge checks:
///
/// * The daemon knows each write that it has accepted, also after a kill.
/// * A confirmed write was done, a refused or cancelled one was not; under honoured keys none was done
///   twice.
/// * No request has a temporary id, a wrong id or the credential of another account.
/// * The temporary name of a to-do leads to it.
/// * The request of joined writes makes all of their changes, and writes that cancel each other out
///   leave the document as the server has said it.
/// * Where no write waits, each member that shows is the server's word, and not an older one than the
///   user has read.
@Suite("Writes that end, and the server's documents", .timeLimit(.minutes(60)))
struct ServerDocumentTests {
    @Test("With every write ended and read back, each view is the server's document")
    func agrees() async throws {
        let (seeds, joined) = (SimulationSeeds.first(40), Recorder<JoinedCounts>())
        _ = try await SimulationSeeds.run(seeds) { seed in
            var writer = try DocumentWriter(seed: seed)
            try await writer.live()
            joined.record(writer.joined)
            return KeptCounts()
        }
        #expect(seeds.count < 40 || joined.all.contains { $0.confirmed > 0 })
        #expect(seeds.count < 40 || joined.all.contains { $0.needless > 0 })
    }

    /// The most seeds until the judge has to notice a fault.
    private static let seedsWithFault: UInt64 = 20

    @Test(
        "The judge fails if requests or answers break one rule",
        arguments: DocumentServer.Fault.allCases
    )
    func isNeeded(fault: DocumentServer.Fault) async throws {
        for seed in 0..<Self.seedsWithFault {
            var writer = try DocumentWriter(seed: seed, fault)
            do {
                try await writer.live()
            } catch is DocumentWriter.Complaint {
                return
            }
        }
        Issue.record("nothing fails with \(fault)")
    }
}
