import FuzzTargets
import LarderTestSupport
import Testing

/// A little of what `scripts/fuzz split` does at length.
@Suite("Answers of any bytes are rebuilt (P-11)")
struct MutatedAnswerTests {
    @Test("Mutated answers come back byte for byte", arguments: [1, 2] as [UInt64])
    func mutated(seed: UInt64) {
        let answers = [
            #"{"t":"V","i":1,"v":1,"n":{"t":"O","i":2,"x":[1.0,"\u0041"]},"p":{"k":"u"}}"#,
            #"[{"t":"L","i":1,"l":[{"t":"V","i":1}],"x":1},{"t":"L","i":1,"o":{"l":[{"k":1}]}}]"#,
            #"{"t":"S","c":{"t":"C","i":"a"},"e":{"t":"E"},"k":{"t":"K","a":1,"b":{"c":"\ud800"}}}"#,
            #"{"q":[{"i":3,"x":{"t":"V","id":"3"}}],"t":"V","i":3,"i":4, "" : [ ]}"#,
        ]
        var random = SeededRandom(seed: seed)
        let opinion = SplitOpinion()
        var splitCount = 0
        for _ in 0..<2_000 {
            var input: [UInt8] = []
            for number in 0..<Int.random(in: 1...3, using: &random) {
                var answer = Array(random.pick(answers).utf8)
                for _ in 0..<Int.random(in: 0...3, using: &random) { random.mutate(&answer) }
                // Each after the first may come when the last entity was deleted, or evicted.
                let divider: [UInt8] = random.pick([
                    [0xFF], [0xFF, 0xFF], [0xFF, UInt8(ascii: "-"), 0xFF],
                ])
                input += (number == 0 ? [] : divider) + answer
            }
            switch opinion.verdict(on: input) {
            case .split: splitCount += 1
            case .whole: continue
            case .disagrees(let words):
                let shown = String(decoding: input, as: UTF8.self)
                Issue.record("seed \(seed): \(words): \(shown.debugDescription)")
                return
            }
        }
        #expect(splitCount > 500, "seed \(seed): \(splitCount) of 2000 were split")
    }
}
