import Foundation

/// Recorded exchanges with a server, as text that is close to HTTP's own.
///
///     ### An origin is added
///     POST /v1/origins
///
///     {"name":"new"}
///
///     HTTP/1.1 201
///     Content-Type: application/json
///
///     {"name":"new","base_url":"https://new.example"}
///
/// The files are in `Tests/Golden`. A body has exactly the bytes before the last line feed of its
/// section. A section without a request holds bytes that no request brings.
package struct GoldenFile: Sendable {
    package struct Section: Equatable, Sendable {
        package var title: String
        /// Nil in a section without a request.
        package var method: String?
        package var target = ""
        /// The body of the request.
        package var request = ""
        package var status = 0
        package var body: String
    }

    package let sections: [Section]

    package init(_ text: String) {
        sections = ("\n" + text).components(separatedBy: "\n### ").dropFirst().map { section in
            // A section ends with a line feed, which the next heading's begins with.
            Self.section(section.hasSuffix("\n") ? String(section.dropLast()) : section)
        }
    }

    /// Reads one of the files.
    package init(named name: String) throws {
        self.init(try String(contentsOfFile: Self.path(name), encoding: .utf8))
    }

    /// The section of this title, and a precondition that there is one.
    package func section(_ title: String) -> Section {
        guard let section = sections.first(where: { $0.title == title }) else {
            preconditionFailure("no section '\(title)'")
        }
        return section
    }

    package static let folder: String = {
        let parts = #filePath.split(separator: "/").dropLast(2)
        return parts.map { "/" + $0 }.joined() + "/Golden"
    }()

    package static func path(_ name: String) -> String { "\(folder)/\(name)" }

    private static func section(_ text: String) -> Section {
        let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        let title = String(parts[0])
        let rest = parts.count > 1 ? String(parts[1]) : ""
        guard let start = rest.range(of: "\n\nHTTP/1.1 ") else {
            return Section(title: title, body: rest)
        }
        let line = rest.prefix { $0 != "\n" }.split(separator: " ")
        let answer = rest[start.upperBound...]
        let body = answer.range(of: "\n\n").map { String(answer[$0.upperBound...]) } ?? ""
        return Section(
            title: title,
            method: String(line[0]),
            target: String(line[1]),
            request: rest[..<start.lowerBound].split(separator: "\n\n", maxSplits: 1).dropFirst()
                .first.map(String.init) ?? "",
            status: Int(answer.prefix { $0.isNumber }) ?? 0,
            body: body
        )
    }
}
