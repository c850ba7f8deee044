import LarderJSON

/// Lines of JSON that no type of the wire stands for.
enum JSONLine {
    /// An object of texts, and a line feed.
    static func object(_ members: KeyValuePairs<String, String>) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            for (name, value) in members { json.member(name, value) }
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }
}
