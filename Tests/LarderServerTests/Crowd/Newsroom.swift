import LarderModel
import LarderTestSupport

/// What an origin publishes: articles with their authors, each on a page of its own and in a feed.
struct Newsroom: Sendable {
    struct Author: Sendable {
        var name: String
        var isDeleted = false
    }

    struct Article: Sendable {
        var title: String
        var author: Int
    }

    /// An answer of the origin.
    enum Answer: Equatable, Sendable {
        case page(Int)
        case feed(Int)
    }

    static let articlesPerFeed = 6

    var authors: [Author]
    var articles: [Article]
    /// The pages that are cached; feeds always are.
    var pages: Set<Int>
    var feeds: Range<Int> { 0..<articles.count / Self.articlesPerFeed }

    init(authors: Int, articles: Int) {
        self.authors = (0..<authors).map { Author(name: "name \($0)") }
        self.articles = (0..<articles).map { Article(title: "title \($0)", author: $0 % authors) }
        pages = Set(0..<articles)
    }

    var cached: [Answer] { pages.sorted().map(Answer.page) + feeds.map(Answer.feed) }

    // MARK: Names

    static func url(_ answer: Answer) throws -> WebURL {
        switch answer {
        case .page(let number): try ServerFixture.url("/pages/\(number)")
        case .feed(let number): try ServerFixture.url("/feeds/\(number)")
        }
    }

    static func author(_ number: Int) -> EntityKey { EntityKey(unchecked: "User:u\(number)") }
    static func article(_ number: Int) -> EntityKey { EntityKey(unchecked: "Article:a\(number)") }

    // MARK: What an answer shows

    func articles(in answer: Answer) -> Range<Int> {
        switch answer {
        case .page(let number): number..<number + 1
        case .feed(let number):
            number * Self.articlesPerFeed..<(number + 1) * Self.articlesPerFeed
        }
    }

    func entities(in answer: Answer) -> Set<EntityKey> {
        Set(
            articles(in: answer).flatMap { number in
                [Self.article(number), Self.author(articles[number].author)]
            }
        )
    }

    // MARK: Texts

    func author(_ number: Int) -> String {
        #"{"type":"User","id":"u\#(number)","name":"\#(authors[number].name)"}"#
    }

    func article(_ number: Int) -> String {
        let article = articles[number]
        let author = author(article.author)
        return #"{"type":"Article","id":"a\#(number)","title":"\#(article.title)","#
            + #""author":\#(author)}"#
    }

    func text(_ answer: Answer) -> String {
        let texts = articles(in: answer).map(article)
        return switch answer {
        case .page: texts[0]
        case .feed: #"{"items":[\#(texts.joined(separator: ","))]}"#
        }
    }
}
