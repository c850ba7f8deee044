import LarderAPI

extension Decodable {
    /// Reads a value of the API, all of whose members must be known.
    package init(decoding json: [UInt8]) throws {
        self = try APIDecoder(.strict).decode(from: json)
    }
}

extension Encodable {
    /// The value as the API has it.
    package func encoded() -> [UInt8] { APIEncoder().encode(self) }
}
