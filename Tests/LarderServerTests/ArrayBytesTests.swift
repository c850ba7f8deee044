import LarderModel
import LarderWire
import Testing

@testable import LarderServer

@Suite("Bytes of arrays that are not sent yet")
struct ArrayBytesTests {
    @Test("One user has half of them, all together not more, and what is sent makes room")
    func bounds() throws {
        let bytes = ArrayBytes()
        let most = Limits.arrayBytesPerUserMax
        do {
            let own = bytes.share(of: 1)
            try own.grow(by: most - 1)
            let second = bytes.share(of: 1)
            try second.grow(by: 1)
            let problem = #expect(throws: Problem.self) { try second.grow(by: 1) }
            #expect(problem?.kind == .overloaded)
            let others = bytes.share(of: 2)
            try others.grow(by: Limits.arrayBytesMax - most)
            #expect(throws: Problem.self) { try bytes.share(of: 3).grow(by: 1) }
            withExtendedLifetime((own, others)) {}
        }
        try bytes.share(of: 1).grow(by: most)
    }
}
