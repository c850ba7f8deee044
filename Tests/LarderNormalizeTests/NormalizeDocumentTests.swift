import Foundation
import LarderJSON
import LarderModel
import LarderNormalize
import Testing

/// The documents of Debian's package iso-codes, which `scripts/test` installs.
@Suite("Real documents")
struct NormalizeDocumentTests {
    private static let folder = "/usr/share/iso-codes/json"

    @Test(
        "Documents of iso-codes are rebuilt byte for byte, also with shared entities (P-11)",
        .enabled(if: FileManager.default.fileExists(atPath: folder)),
        arguments: [
            ("3166-1", "Country", "alpha_2"), ("3166-2", "Subdivision", "code"),
            ("3166-3", "Country", "alpha_4"), ("4217", "Currency", "alpha_3"),
            ("639-2", "Language", "alpha_3"), ("639-5", "Family", "alpha_3"),
            ("15924", "Script", "alpha_4"),
        ]
    )
    func isoCodes(name: String, type: String, field: String) throws {
        let path = "\(Self.folder)/iso_\(name).json"
        let body = Array(try #require(FileManager.default.contents(atPath: path)))
        let text = String(decoding: body, as: UTF8.self)
        var store = try PlainStore(
            NormalizeRules(
                paths: [
                    PathRule(
                        url: "/iso/*",
                        at: MemberPath(tokens: [name, "*"]),
                        type: type,
                        key: EntityKeyRule([.member(field)])
                    )
                ]
            )
        )
        let split = try store.split(text, path: "/iso/\(name)")
        #expect(split.keys.count > 20)
        #expect(split.report == SplitReport())
        let answer = try store.put(split)
        #expect(try store.shown(answer).bytes == body)
        // The same without its white space shares the entities, and keeps its own layout.
        let object = try JSONSerialization.jsonObject(with: Data(body))
        let compact = try JSONSerialization.data(withJSONObject: object)
        let second = try store.put(String(decoding: compact, as: UTF8.self), path: "/iso/\(name)")
        #expect(store.changes.values.allSatisfy { $0 == .nothing })
        #expect(try store.shown(second).bytes == Array(compact))
        #expect(try store.shown(answer).bytes == body)
    }
}
