/// The one of `names` that `text` is a slip of, or nil when none is near.
///
/// Near is at most one slip for every three letters of the name, and at least one; and a beginning
/// of three letters or more that only one name has, as `warn` for `warning`.
package func nearestName(to text: String, among names: [String]) -> String? {
    let rated = names.map { (name: $0, slips: editDistance(text.lowercased(), $0.lowercased())) }
    let near = rated.filter { $0.slips <= max(1, $0.name.count / 3) }
    if let nearest = near.min(by: { $0.slips < $1.slips }) { return nearest.name }
    let longer = names.filter { text.count >= 3 && $0.hasPrefix(text) }
    return longer.count == 1 ? longer.first : nil
}

/// Advice at the end of a refusal: the nearest of `names`, or all of them if none is near.
package func nearestNameAdvice(on text: String, among names: [String]) -> String {
    if let nearest = nearestName(to: text, among: names) { return "did you mean '\(nearest)'?" }
    return names.isEmpty ? "there are none" : "there are: \(names.joined(separator: ", "))"
}

/// How many letters must be put in, left out, replaced or swapped with their neighbour to make
/// one text of the other (optimal string alignment).
func editDistance(_ left: String, _ right: String) -> Int {
    // A name that is far longer than any key is not a slip, and need not cost its square.
    guard left.utf8.count <= 128, right.utf8.count <= 128 else { return .max }
    let (left, right) = (Array(left), Array(right))
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in 0..<left.count {
        var current = [row + 1]
        for column in 0..<right.count {
            let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
            var best = min(replaced, last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                best = min(best, beforeLast[column - 1] + 1)
            }
            current.append(best)
        }
        (beforeLast, last) = (last, current)
    }
    return last[right.count]
}
