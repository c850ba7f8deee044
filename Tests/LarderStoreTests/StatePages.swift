import Foundation
import LarderTestSupport

@testable import LarderStore

/// The pages of a closed or copied `state.db`, to be harmed.
struct StatePages {
    static let bytes = 4_096

    let path: String

    var count: Int { Int(DiskSpace.fileBytes(at: path)) / Self.bytes }

    func read(_ number: Int) throws -> Data {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(number - 1) * UInt64(Self.bytes))
        return try file.read(upToCount: Self.bytes) ?? Data()
    }

    func write(_ page: Data, at number: Int) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(number - 1) * UInt64(Self.bytes))
        try file.write(contentsOf: page)
    }

    func root(of name: String) throws -> Int {
        let file = try SQLiteConnection(path: path, mode: .readOnly)
        file.keepWALOnClose(true)
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'"
        return Int(try file.integer(sql) ?? 0)
    }

    /// The pages below an inner page of a table, in the order of their keys
    /// (https://sqlite.org/fileformat2.html#b_tree_pages).
    func children(of number: Int) throws -> [Int] {
        // The first one begins with the header of the file.
        let start = number == 1 ? 100 : 0
        let page = [UInt8](try read(number))
        func word(_ place: Int) -> Int { Int(page[place]) << 8 | Int(page[place + 1]) }
        guard page[start] == 5 else { return [] }
        let cells = (0..<word(start + 3)).map { word(start + 12 + 2 * $0) } + [start + 8]
        return cells.map { word($0) << 16 | word($0 + 2) }
    }
}
