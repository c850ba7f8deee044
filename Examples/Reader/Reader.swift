import Foundation
import LarderClient

/// Shows a feed of articles and saves what it names, with a network and without one.
struct Reader {
    let larder: LarderClient

    /// Shows the cached feed immediately, and the network's feed after it if that differs.
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

    /// Caches every article of a feed, so that they can be read without a network.
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

    /// Saves an article for later: it is never evicted, and outlives the loss of the cache.
    ///
    /// Without a network the article waits. The daemon fetches it when the network is back, even if
    /// this program has ended.
    func save(_ url: String) async throws(LarderError) {
        let waiting = try await larder.pin(url)
        print(waiting == nil ? "Saved." : "It is saved as soon as its server answers.")
    }

    /// Lists the saved articles, and those that still wait for their server.
    func listSaved() async throws(LarderError) {
        for try await pin in larder.pins() { print("\(pin.state.rawValue) \(pin.id)") }
    }

    /// Downloads a file of any size to a place outside the cache, and shows the progress.
    func download(_ url: String, to path: String) async throws(LarderError) {
        let done = try await larder.download(url, to: path) { progress in
            let count = progress.receivedBytes
            let words = progress.totalBytes.map { "\(count * 100 / $0) %" } ?? "\(count) bytes"
            FileHandle.standardError.write(Data("\r\(words)".utf8))
        }
        print("\n\(done.receivedBytes) bytes in \(path)")
    }

    /// Counts the bytes of a URL's answer, with only a few of them in memory at a time.
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
