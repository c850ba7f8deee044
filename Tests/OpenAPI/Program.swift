import Foundation

/// Prints the API's document: `larder-openapi SYMBOLGRAPH`.
@main
enum Program {
    static func main() throws {
        guard CommandLine.arguments.count == 2 else {
            FileHandle.standardError.write(Data("usage: larder-openapi SYMBOLGRAPH\n".utf8))
            exit(2)
        }
        let graph = try Data(contentsOf: URL(filePath: CommandLine.arguments[1]))
        let document = Document.make(try Symbols(parsing: Array(graph)))
        FileHandle.standardOutput.write(Data(document))
    }
}
