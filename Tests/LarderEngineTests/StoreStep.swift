/// Parts of the store's SQL by which tests name its steps.
enum StoreStep {
    static let putEntry = "INTO entry ("
    static let confirmEntry = "UPDATE entry SET stored_at"
    static let putBody = "INTO body ("
    static let putChunk = "INTO chunk ("
    static let readEntry = "FROM entry WHERE key = :key"
    static let readChunk = "SELECT data, checksum FROM chunk"
    static let readWanted = "wanted = 1 ORDER BY claim"
    static let check = "FROM meta"
    static let oldest = "SELECT accepted_at FROM modifier"
}
