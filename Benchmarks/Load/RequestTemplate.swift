/// A request with places for its number, ready to be put together.
struct RequestTemplate: Sendable {
    private let path: NumberedText
    private let method: String
    private let headers: String
    private let body: NumberedText?

    init(method: String, path: String, headers: [String], body: [UInt8]?) {
        self.method = method
        self.path = NumberedText(Array(path.utf8))
        self.headers = headers.map { "\($0)\r\n" }.joined()
        self.body = body.map(NumberedText.init)
    }

    func bytes(_ number: Int) -> [UInt8] {
        var request = Array("\(method) ".utf8) + path.bytes(number)
        request += " HTTP/1.1\r\nHost: larder\r\n\(headers)".utf8
        guard let body else { return request + "\r\n".utf8 }
        let content = body.bytes(number)
        return request + "Content-Length: \(content.count)\r\n\r\n".utf8 + content
    }
}

/// Text in which `{n}` is replaced by a number.
struct NumberedText: Sendable {
    private let parts: [[UInt8]]

    init(_ text: [UInt8]) {
        var parts: [[UInt8]] = []
        var rest = text[...]
        while let place = rest.firstRange(of: Array("{n}".utf8)) {
            parts.append(Array(rest[..<place.lowerBound]))
            rest = rest[place.upperBound...]
        }
        self.parts = parts + [Array(rest)]
    }

    func bytes(_ number: Int) -> [UInt8] {
        Array(parts.joined(separator: "\(number)".utf8))
    }
}
