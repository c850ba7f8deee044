import LarderModel

/// Which claimed row: 128 bits of a keyed hash of scope and id, under a secret seed.
///
/// It routes: what it leads to is compared by scope and id in full before anything is read.
struct ClaimKey: Hashable, Sendable {
    private let digest: Digest

    init(_ scope: ScopeKey, _ id: EntryID) {
        digest = Checksum.keyedDigest(id.text, seed: scope.seed)
    }
}
