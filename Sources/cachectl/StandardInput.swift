import ArgumentParser

/// Arguments as they are meant, where `-` stands for the lines of stdin.
enum StandardInput {
    /// Each argument, and in the place of `-` each line that is not empty.
    static func lines(_ arguments: [String]) throws -> [String] {
        guard arguments.count(where: { $0 == "-" }) <= 1 else {
            throw ValidationError("- is given twice; stdin can be read once.")
        }
        return arguments.flatMap { argument in
            guard argument == "-" else { return [argument] }
            var lines: [String] = []
            while let line = readLine() {
                if !line.isEmpty { lines.append(line) }
            }
            return lines
        }
    }
}
