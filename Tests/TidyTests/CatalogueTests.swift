import Testing

@Suite("The catalogue of the Swift library")
struct CatalogueTests {
    private let own = Catalogue(of: "LarderClient", exporting: ["LarderAPI"], in: .own)

    @Test("Every link names something public")
    func links() {
        let findings = own.danglingLinks
        #expect(!own.pages.isEmpty)
        #expect(findings.isEmpty, "\(findings.map(\.description).joined(separator: "\n"))")
    }

    @Test("Every type and each method of the client is listed under a topic")
    func whole() {
        #expect(own.symbols.contains("LarderClient/pin(_:waitingFor:refresh:)"))
        #expect(own.unlisted.isEmpty, "\(own.unlisted.joined(separator: "\n"))")
    }

    @Test("Public declarations are found as DocC spells them, and no others")
    func symbols() {
        let text = """
            public final class Shop<Ware: Sendable>: Sendable {
                public let name: String
                let till: Int
                public convenience init?(at place: Place = .here) {}
                package func hidden() {}
            }
            extension Shop {
                @discardableResult
                public func buy<Thing: Hashable>(
                    _ thing: Thing,
                    for price: [String: Int],
                    onTheWay tell: @Sendable (Int) -> Void = { _ in }
                ) async throws(E) -> Int {
                    switch price { case .none: break }
                }
                public enum State: String {
                    case open
                    case closed(until: Day, [String: Int])
                    public var isOpen: Bool { true }
                }
                public static func all() {}
            }
            extension Shop.State {
                // public func never() {}
                public func next(isolation actor: A?) {}
            }
            enum Inner {
                case unseen
            }
            """
        let file = SourceFile(path: "Sources/A/B.swift", text: text)
        #expect(
            publicSymbols(in: file) == [
                "Shop", "Shop/name", "Shop/init(at:)", "Shop/buy(_:for:onTheWay:)", "Shop/State",
                "Shop/State/open", "Shop/State/closed(until:_:)", "Shop/State/isOpen", "Shop/all()",
                "Shop/State/next(isolation:)",
            ]
        )
    }

    @Test("A link that dangles and a method without a topic are found")
    func findings() {
        let tree = Tree(files: [
            SourceFile(
                path: "Sources/Shop/Shop.swift",
                text: "public class Shop {\n    public func buy() {}\n    public func sell() {}\n}"
            ),
            SourceFile(path: "Sources/Shop/Ware.swift", text: "public struct Ware {}"),
            SourceFile(
                path: "Sources/Shop/Shop.docc/Shop.md",
                text: """
                    # ``Shop``

                    See ``Shop/Shop/sell()`` and ``Shop/Shop/steal()``.

                    ## Topics

                    ### All

                    - ``Shop/Shop``
                    - ``Shop/Shop/buy()``
                    - ``Till``
                    """
            ),
        ])
        let catalogue = Catalogue(of: "Shop", in: tree)
        #expect(
            catalogue.danglingLinks.map(\.description) == [
                "Sources/Shop/Shop.docc/Shop.md:3: ``Shop/Shop/steal()`` is nothing public of Shop",
                "Sources/Shop/Shop.docc/Shop.md:11: ``Till`` is nothing public of Shop",
            ]
        )
        #expect(catalogue.unlisted == ["Shop/sell()", "Ware"])
    }
}
