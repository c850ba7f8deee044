import Foundation

@testable import LarderUpstream

/// Bodies in each coding, made with zlib 1.2.13, libbrotlienc 1.0.9 and libzstd 1.5.4.
enum CodedBytes {
    static let text = #"{"a":1}"#
    static let gzip: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 84, 178, 50, 172, 5, 0, 175, 172, 27, 86, 7,
        0, 0, 0,
    ]
    static let zlib: [UInt8] = [120, 156, 171, 86, 74, 84, 178, 50, 172, 5, 0, 8, 42, 2, 9]
    /// As some servers send it: without zlib's head and sum.
    static let deflate: [UInt8] = [171, 86, 74, 84, 178, 50, 172, 5, 0]
    static let brotli: [UInt8] = [11, 3, 128, 123, 34, 97, 34, 58, 49, 125, 3]
    static let zstd: [UInt8] = [
        40, 181, 47, 253, 32, 7, 57, 0, 0, 123, 34, 97, 34, 58, 49, 125,
    ]
    /// A frame that a decoder skips (RFC 8878 3.1.2).
    static let skipped: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9]

    static let whole: [(String, [UInt8])] = [
        ("gzip", gzip), ("X-GZIP", gzip), ("gzip", gzip + gzip), ("deflate", zlib),
        ("deflate", deflate), ("gzip", []), ("br", brotli), ("BR", brotli), ("br", []),
        ("zstd", zstd), ("zstd", zstd + zstd), ("zstd", skipped + zstd + skipped), ("zstd", []),
    ]

    /// The body of one of ``whole``.
    static func decoded(_ coded: [UInt8]) -> [UInt8] {
        let isTwice = coded == gzip + gzip || coded == zstd + zstd
        return Array(String(repeating: text, count: coded.isEmpty ? 0 : isTwice ? 2 : 1).utf8)
    }

    static let damaged: [(String, [UInt8])] = [
        ("gzip", Array(gzip.dropLast(3))), ("gzip", gzip + [1, 2, 3]),
        ("gzip", Array(gzip.prefix(10)) + [0xFF, 0xFF, 0xFF]), ("deflate", zlib + [0]),
        ("gzip", Array(text.utf8)), ("br", Array(brotli.dropLast(2))), ("br", brotli + [0]),
        ("br", gzip), ("zstd", Array(zstd.dropLast(2))), ("zstd", zstd + [1, 2, 3]),
        ("zstd", gzip), ("zstd", largeWindow(24)), ("br", [0x11, 30, 0, 0]),
    ]

    /// A frame of one byte whose decoder needs a window of 2 to the power of `log` bytes.
    static func largeWindow(_ log: UInt8) -> [UInt8] {
        [0x28, 0xB5, 0x2F, 0xFD, 0, (log - 10) << 3, 9, 0, 0, UInt8(ascii: "x")]
    }

    /// Zero bytes that expand over 1,000 times: some MiB in each coding.
    static let bombs: [(ContentCoding, [UInt8])] = [
        (.gzip, [31, 139, 8, 0, 0, 0, 0, 0, 2, 3] + zeros),
        (.deflate, [0x78, 0xDA] + zeros),
        (.brotli, bytes("m///P/gnAOKxQCD3/gc=")),
        (.zstd, zstdBomb),
    ]

    private static let zeros: [UInt8] =
        [0xED, 0xC1, 1, 1, 0, 0, 0, 0x82, 0x20, 0xFF, 0xAF, 0x6E, 0x48, 0x40, 1]
        + [UInt8](repeating: 0, count: 4_063)
        + [0x7C, 0x1B, 0x6A, 0x40, 0x47, 0x11, 0, 0, 0x40, 0]

    /// Blocks of one byte that is repeated 131,072 times.
    private static let zstdBomb: [UInt8] =
        [0x28, 0xB5, 0x2F, 0xFD, 0, 0x68]
        + (0..<4_000).flatMap { _ in [UInt8(2), 0, 0x10, 0] } + [1, 0, 0]

    /// Lines of JSON in each coding; ``lines`` are the bytes.
    static let coded: [(ContentCoding, [UInt8])] = [
        (.gzip, codedLines.gzip), (.brotli, codedLines.brotli), (.zstd, codedLines.zstd),
        (.gzip, codedLines.gzip + gzip), (.zstd, skipped + codedLines.zstd + skipped + zstd),
    ]

    /// The body of one of ``coded``.
    static func lines(in coded: [UInt8]) -> [UInt8] {
        let isAlone = [codedLines.gzip, codedLines.brotli, codedLines.zstd].contains(coded)
        return lines + Array(isAlone ? "".utf8 : text.utf8)
    }

    private static let lines = (0..<150).flatMap { number in
        Array("{\"id\":\(number),\"name\":\"item \(number * 7_919 % 1_000)\"}\n".utf8)
    }

    private static func bytes(_ base64: String) -> [UInt8] {
        Data(base64Encoded: base64).map { Array($0) } ?? []
    }

    private static let codedLines = (
        brotli: bytes(
            """
            G3oQgJwFdnNyJ5nBg/fXWC6DMm2vzw1n6s8PQwEkdRTIQoT/pz+pBAdjfuhW6CkPrqys0FJj8Feooea2kz8J\
            mc1A8P/s/c/88X1w/953A+Bv0cZct4e9ooCXY+hSJf+AyMVd3LUa9JrgBc9Bn5BXzDEH9qsM4JwNTU5yHpHx\
            LG7EQS8aN/Nm7wEzrSY47GADHjLQVyPguVIJFjfZQS8LN/tGecDwqsk77OwEnKGhgQUfR5DHBnd0lqLNUUws\
            xhGjihHEcMWsxGOieKAtBhAfGymVlLOUnJQ8KR4pohRayp6UfdIxgxxQfgg5jZyrnIOcrBxLjiKHlUMo2VWO\
            IUpg5gPl4yrpKDkqiZX4lPjpotGFq8tKd0zUHWjpAugeW7pUulx0SdUEajxqRDW0mj01+9RjBjWg+jBqem94\
            pO8Nzxze8Ez2Dc9Yb3hGecPzm9VQLojs7uJ2NOgguME7+yJ8RnPOHeweA25saH2S+4isZnFLDjpr3MzbuQcs\
            Wk1x2HMzA78rA+1F8KZUisWtd9CRcLNvmQfsXjV9h92ZgAsaOi3g7x5R+ha3N4NOiBu+tR+wSjHLnrYIuLuG\
            diR4ESJnF1wx6G93Pw==
            """
        ),
        zstd: bytes(
            """
            KLUv/WB7Dy0QALYxYBSwaTn5mgXwJcpEyiRlSsmHdifqTmIAVwBYAEXta5rKTDqme7alMFvkNS7RyRTZEzs6\
            XTSUl3DEfFfSSFZxDGpw4xottHI+x2dCl82Qd1dH5Cq2RS22syil1vdkpETm48tLJdZqhoVDABwUJBgcBA4F\
            BwMIh4AQOBAYHBQCddLQO/9tmgtLPv6ppxlf5h5tfHMNyzS9fCwzI73MjDwv6tCLU7IJL2ZkCaMkpV48HhGL\
            yHAsj1eITqmhSUiFrGVu5NZun2ORiqe2P6mphK7PHPPwTFUyMbMJjWwz93ZTN2Jxq21Rse2rGIUUa/uY54lJ\
            WWJzcewyjVHPWI0Wi6iIjaqKQ1XvZXJKolJDdX3cIgurOKvYo1Yv4omoUid3SDahqZl+lkhKqnoUlKDFBIaF\
            w1rlceS17vkbT4TiTWvvcz0q06vLvJgJb351JFHXqHemmk5GuvHcnWxHUXZFXRd3dBMpjh3iup9zfTg5CTdS\
            5t5ytJGr2rggBrdpbbRpK+WbA4EqqBFAXH7/M6G7HBEoBIVhfuvV7JzWaVzYIrMjczMzcbPGbM7mZPKNy5DZ\
            Oa3TOAwKt0S9C+ZOmAt3TgtzLoy7CHduLXvugrkT5sId08KcC+Mugp3j3gVzJ8zFe7AzOns3zLkwV15YFeZd\
            MHdRXFT2+fNKpVJSqZRU4akNATGgVgE=
            """
        ),
        gzip: bytes(
            """
            H4sIAAAAAAACA2XXPY5TURBE4ZxVIMcEt7r7/rEbJAgIhohsxN5BBK72mbilkfzNc/m898fP74+v48vj17e3\
            H4+vj5+/f7x9Ho8/n97/H/R6uLrPU7yeTp7nKV9Pe+7nqV5Pa6/nab6e5p3P08JJ9Tzt11NlPk/n9ZQznqf7\
            eootf2Rg6DYOeGjYQwAJewggtwwiiJxlEYFkH5MIJnvYREBZYRRBZZZVBJZaZgmw5DFLgCVue0zIIrsEXJR2\
            CbhMswRY7jZLgOVcswRYjswSYNlplgDLmmZJsMxtlgRLHbMkWGq0rw9YMsySYImyS8JFyy5JF7MkWIySQLlh\
            lLz8g0YpoOxllBIXwCgVnACjVHID2qgUR8AoNbkCRqnFGbBKbc6AXQoukl0KLmmWCZY7zTLFGTDLDM6AWSa3\
            dphlcmyjjS3XtswyF2fALJMPyzHL5OAOs0wubthlcXHLLkt8JHwKzoBZVnIGzLK4uDLL4uJm+xFanAGzrM0Z\
            MMsCS12zLC6uzLK5uGmWzcUtu+zgDNhl08Usm0+LL9zbMMr+sCvtp3lzBoyygbKOUTb3dhjlcG/DKId7m0Y5\
            wRkwyknOgFVOcQbscri3ssuBS5rlbM5AS5bD/49ZDlj2Ncvl4sosl4sbZrlc3DLLTc6AWW5xBsxyubjDLJeL\
            G3a5XNyyy+Xj0lIOLPf0luPkjhZzg5vb6laDo9v6ViM5BS3oBsulNa7G5Bi0pBsc3ta5GlzeVroa8InWuv8i\
            FbC9dvVBqN2Y/+3E8e25y949vXcZvLsHL4t39eJl8q6evGze2ZuX0Vs9elm92apXzN5o2St2r25/HeAMt/AV\
            y7eFr1i+t6Wv2L6nta8Yv7vFr1i/u9WvmL+r5a/Yv7P1rxjA1QJYLOBsBSwmcI7+xsRNbg0sRrBaBIsV3CJY\
            rODbMljs4DsaEFP4tBQWW3i3FhZjeLUYFmt4thoWc7haDos9XOrvlJznFsRiEUcrYjGJ1ZJYbOKWxPrQxM2H\
            TXz/R/FfDSWn9HsQAAA=
            """
        )
    )
}
