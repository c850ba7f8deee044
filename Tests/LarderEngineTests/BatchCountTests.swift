import LarderModel
import Testing

@testable import LarderEngine

@Suite("The count of batches")
struct BatchCountTests {
    @Test("There are so many of one user, and so many in all")
    func bounds() {
        let count = BatchCount()
        let users = (0..<4).map { Scope.Owner.user($0) }
        for _ in 0..<Limits.batchesPerUserMax { #expect(count.begin(users[0])) }
        #expect(!count.begin(users[0]))
        for _ in 0..<Limits.batchesMax - Limits.batchesPerUserMax {
            #expect(count.begin(users[1]))
        }
        #expect(!count.begin(users[2]))
        count.end(users[0])
        #expect(count.begin(users[2]))
        #expect(!count.begin(users[0]))
    }
}
