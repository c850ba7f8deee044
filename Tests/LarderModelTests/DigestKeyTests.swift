import Testing

@testable import LarderModel

@Suite("Digests by a key")
struct DigestKeyTests {
    /// From the tables of https://github.com/veorq/SipHash, for the key 0, 1, … 15 and the texts of
    /// 0, 1, 15 and 63 bytes 0, 1, 2, ….
    @Test(
        "Digests are those of SipHash-2-4 with 128 bits",
        arguments: [
            (0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45"),
            (15, "5493e99933b0a8117e08ec0f97cfc3d9"), (63, "5150d1772f50834a503e069a973fbd7c"),
        ]
    )
    func vectors(count: UInt8, expected: String) throws {
        let key = try #require(DigestKey(Array(0..<16)))
        let text = String(decoding: Array(0..<count), as: UTF8.self)
        #expect(key.digest(of: text) == expected)
    }

    @Test("Another key gives another digest, and a key has 16 bytes")
    func keys() throws {
        let key = try #require(DigestKey(Array(0..<16)))
        let other = try #require(DigestKey(Array(1..<17)))
        #expect(key.digest(of: "a") != other.digest(of: "a"))
        #expect(DigestKey(Array(0..<15)) == nil)
    }
}
