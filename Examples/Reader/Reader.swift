import LarderClient

/// Shows a feed of articles and saves what it names, with a network and without one.
struct Reader {
    let larder: LarderClient

    /// Shows what is cached at once, and the network's feed after it where that differs.
    func show(_ url: String) async throws(LarderError) {
        for try await update in larder.fetch(url, as: Feed.self) {
            switch update {
            case .value(let feed):
                let age = feed.source == .cache ? ", \(feed.isStale ? "stale" : "fresh")" : ""
                print("\(feed.value.title) (\(feed.source)\(age))")
                for article in feed.value.articles { print("- \(article.title): \(article.url)") }
            case .unchanged: print("The network has nothing newer.")
            case .deleted: print("The feed is gone.")
            case .failed(let problem): print("The network failed: \(problem.title)")
            }
        }
    }

    /// Has every article of a feed cached, so that they can be read without a network.
    func keep(_ url: String) async throws(LarderError) {
        for try await update in larder.fetch(url, as: Feed.self) {
            guard case .value(let feed) = update else { continue }
            for article in feed.value.articles {
                for try await step in larder.fetch(article.url) {
                    if case .end(let outcome) = step { print("\(article.title): \(outcome)") }
                }
            }
        }
    }

    /// Copies what is cached under a URL to stdout in pieces, whatever its size.
    func read(_ url: String) async throws(LarderError) -> Int {
        let options = FetchOptions(policy: .networkFirst)
        for try await update in larder.fetch(url, options: options) {
            guard case .snapshot(let snapshot) = update else { continue }
            var count = 0
            for try await chunk in try await snapshot.bodyChunks() { count += chunk.count }
            return count
        }
        return 0
    }
}
