/// A function of a file: where it begins, and its lines up to the closing brace.
struct FunctionExtent: Equatable {
    let line: Int
    let lineCount: Int
}

/// The functions, initializers and subscripts with a body in lines of code without prose.
func functions(in code: [String]) -> [FunctionExtent] {
    code.indices.compactMap { index in
        guard let start = declaration(in: code[index]) else { return nil }
        return extent(in: code, from: index, at: start)
    }
}

/// Where a declaration's name begins in the line.
private func declaration(in line: String) -> String.Index? {
    for keyword in ["func ", "init(", "init?(", "init<", "subscript("] {
        guard let range = line.firstRange(of: keyword) else { continue }
        let words = line[..<range.lowerBound].split(separator: " ")
        let isDeclared = words.allSatisfy { word in
            modifiers.contains(word.prefix(while: { $0 != "(" })) || word.hasPrefix("@")
        }
        if isDeclared { return range.upperBound }
    }
    return nil
}

private let modifiers: Set<Substring> = [
    "public", "package", "internal", "fileprivate", "private", "static", "class", "override",
    "mutating", "nonmutating", "consuming", "borrowing", "final", "convenience", "required",
    "nonisolated", "isolated", "prefix", "postfix", "infix", "indirect", "distributed", "open",
]

private func extent(
    in code: [String],
    from first: Int,
    at start: String.Index
) -> FunctionExtent? {
    var parentheses = code[first][..<start].hasSuffix("(") ? 1 : 0
    var braces = 0
    for index in first..<code.count {
        let line = index == first ? code[index][start...] : code[index][...]
        // A requirement of a protocol has no body: the next declaration begins, or all ends.
        if index > first, braces == 0, parentheses == 0, declaration(in: code[index]) != nil {
            return nil
        }
        for sign in line.utf8 {
            switch sign {
            case UInt8(ascii: "("), UInt8(ascii: "["): parentheses += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): parentheses -= 1
            case UInt8(ascii: "{") where parentheses == 0 || braces > 0: braces += 1
            case UInt8(ascii: "}") where parentheses == 0 || braces > 0:
                guard braces > 0 else { return nil }
                braces -= 1
                if braces == 0 {
                    return FunctionExtent(line: first + 1, lineCount: index - first + 1)
                }
            default: break
            }
        }
    }
    return nil
}
