/// A feed of articles, as its server spells it.
struct Feed: Decodable, Sendable {
    let title: String
    let articles: [Article]

    struct Article: Decodable, Sendable {
        let title: String
        let url: String
    }
}
