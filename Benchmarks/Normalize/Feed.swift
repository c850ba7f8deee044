/// A feed as servers write them: articles with their authors, 1,000 entities in about 1 MB.
struct Feed {
    /// The number of articles of each author.
    let authorRepeats: Int
    let body: [UInt8]

    private static let words = [
        "cache", "daemon", "offline", "device", "network", "answer", "author", "reader", "entity",
        "the", "of", "and", "to", "in", "is", "that", "for", "with", "as", "was",
    ]

    init(authorRepeats: Int) {
        self.authorRepeats = authorRepeats
        // Of 1,000 entities, each author accounts for one and for `authorRepeats` articles.
        let articles = 1_000 * authorRepeats / (authorRepeats + 1)
        var text = #"{"page":1,"items":["#
        for index in 0..<articles {
            if index > 0 { text += "," }
            text += Self.article(index, author: index / authorRepeats, of: articles)
        }
        body = Array((text + "]}").utf8)
    }

    private static func article(_ index: Int, author: Int, of articles: Int) -> String {
        let length = 1_000_000 / articles - 560
        return #"{"__typename":"Article","id":\#(100_000 + index),"title":"\#(prose(index, 40))","#
            + #""url":"https://example.com/articles/\#(100_000 + index)","published":"#
            + #""2026-11-22T10:\#(10 + index % 50):00Z","likes":\#(index % 977),"liked":false,"#
            + #""tags":["\#(prose(index, 8))","\#(prose(index + 1, 8))"],"#
            + #""author":{"__typename":"User","id":\#(7_000 + author),"name":"\#(prose(author, 16))","#
            + #""avatar":"https://example.com/avatars/\#(7_000 + author).png","bio":"#
            + #""\#(prose(author, 120))"},"text":"\#(prose(index, length))"}"#
    }

    private static func prose(_ seed: Int, _ length: Int) -> String {
        var text = ""
        var word = seed
        while text.utf8.count < length {
            word = (word &* 31 &+ 7) % 10_007
            text += words[word % words.count] + " "
        }
        return String(text.prefix(max(length, 1)))
    }
}
