import LarderModel
import LarderTestSupport
import Testing

@testable import LarderUpstream

@Suite("The decoder of coded bodies (S48)")
struct BodyDecoderTests {
    /// The body of coded bytes in pieces of given sizes; the last size counts for the rest.
    private func decode(
        _ coding: ContentCoding,
        _ coded: [UInt8],
        inPieces sizes: [Int] = [.max]
    ) throws(UpstreamError) -> [UInt8] {
        let decoder = BodyDecoder(coding)
        var (body, rest, sizes): ([UInt8], ArraySlice<UInt8>, ArraySlice<Int>) = (
            [], coded[...], sizes[...]
        )
        while !rest.isEmpty {
            let size = sizes.count > 1 ? sizes.removeFirst() : sizes.first ?? 1
            decoder.take(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let piece = try decoder.next() {
                #expect((1...Limits.decodedPieceBytes).contains(piece.count))
                body += piece
            }
        }
        try decoder.finish()
        return body
    }

    /// The error or the body.
    private func outcome(
        _ coding: ContentCoding,
        _ coded: [UInt8],
        inPieces sizes: [Int] = [.max]
    ) -> Result<[UInt8], UpstreamError> {
        do throws(UpstreamError) {
            return .success(try decode(coding, coded, inPieces: sizes))
        } catch {
            return .failure(error)
        }
    }

    @Test("Pieces of any sizes give the same body (S48)")
    func anyCut() throws {
        var random = SeededRandom(seed: 48)
        for (coding, coded) in CodedBytes.coded {
            let expected = CodedBytes.lines(in: coded)
            #expect(try decode(coding, coded) == expected, "\(coding)")
            #expect(try decode(coding, coded, inPieces: [1]) == expected, "\(coding)")
            for place in stride(from: 1, to: coded.count, by: 7) {
                #expect(try decode(coding, coded, inPieces: [place, .max]) == expected)
            }
            for _ in 0..<20 {
                let sizes = (0..<40).map { _ in Int.random(in: 1...60, using: &random) }
                #expect(try decode(coding, coded, inPieces: sizes) == expected, "\(sizes)")
            }
        }
    }

    @Test("A body that is cut anywhere is an error (S48)")
    func truncated() {
        for (coding, coded) in CodedBytes.coded.prefix(3) {
            for count in stride(from: 1, to: coded.count, by: 5) {
                let outcome = outcome(coding, Array(coded.prefix(count)), inPieces: [7])
                guard case .failure(.undecodable) = outcome else {
                    Issue.record("\(coding) of \(count) bytes: \(outcome)")
                    return
                }
            }
        }
    }

    @Test("Bytes after the end are an error (S48)")
    func trailing() {
        for (coding, coded) in CodedBytes.coded {
            for more in [[0], [1, 2, 3], Array("<!-- page -->".utf8)] as [[UInt8]] {
                for sizes in [[.max], [1], [coded.count, .max]] {
                    let outcome = outcome(coding, coded + more, inPieces: sizes)
                    guard case .failure(.undecodable) = outcome else {
                        Issue.record("\(coding) with \(more): \(outcome)")
                        return
                    }
                }
            }
        }
    }

    @Test("Flipped bits give a bounded body or an error, and never a crash (S48)")
    func flippedBits() {
        var random = SeededRandom(seed: 49)
        for (coding, coded) in CodedBytes.coded {
            for place in stride(from: 0, to: coded.count, by: 3) {
                var changed = coded
                changed[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
                if Bool.random(using: &random) { random.mutate(&changed) }
                let sizes = [Int.random(in: 1...90, using: &random)]
                // Without a checksum, as in br, other bytes may come.
                if case .success(let body) = outcome(coding, changed, inPieces: sizes) {
                    #expect(body.count <= Limits.decodedFreeBytes + changed.count * 1_000)
                }
            }
        }
    }

    @Test("Random bytes never crash a decoder (S48)", arguments: ContentCoding.allCases)
    func randomBytes(coding: ContentCoding) {
        var random = SeededRandom(seed: 50)
        for _ in 0..<500 {
            let count = Int.random(in: 1...200, using: &random)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            // The beginning of a real stream leads further into the decoder.
            if let real = CodedBytes.coded.first(where: { $0.0 == coding })?.1 {
                let kept = Int.random(in: 0...60, using: &random)
                bytes = Array(real.prefix(kept)) + bytes
            }
            _ = outcome(coding, bytes, inPieces: [Int.random(in: 1...50, using: &random)])
        }
    }

    @Test("A body that expands over 1,000 times ends after 1 MiB (S48)")
    func bombs() {
        for (coding, coded) in CodedBytes.bombs {
            let decoder = BodyDecoder(coding)
            var count = 0
            let failure = #expect(throws: UpstreamError.self, "\(coding)") {
                decoder.take(coded)
                while let piece = try decoder.next() { count += piece.count }
                try decoder.finish()
            }
            #expect(failure == .expandsTooMuch, "\(coding)")
            let bound = Limits.decodedFreeBytes + Limits.decodedRatioMax * coded.count
            #expect(count >= Limits.decodedFreeBytes && count <= bound, "\(coding) \(count)")
        }
    }

    @Test("A window of 8 MiB is taken, and a larger one is refused (S48)")
    func windows() throws {
        #expect(try decode(.zstd, CodedBytes.largeWindow(23)) == Array("x".utf8))
        let refused = UpstreamError.undecodable(reason: "its zstd stream is damaged")
        #expect(outcome(.zstd, CodedBytes.largeWindow(24)) == .failure(refused))
    }

    @Test("Many short streams after one another are decoded in a short time (S48)")
    func manyStreams() throws {
        let members = (0..<20_000).flatMap { _ in CodedBytes.gzip }
        #expect(try decode(.gzip, members).count == 20_000 * CodedBytes.text.utf8.count)
    }
}
