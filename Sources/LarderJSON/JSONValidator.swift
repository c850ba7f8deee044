/// Says whether bytes are one JSON text, without building anything.
package enum JSONValidator {
    package static func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var tokenizer = JSONTokenizer(bytes)
        do throws(JSONError) {
            while try tokenizer.next() != nil {}
            return true
        } catch {
            return false
        }
    }

    package static func accepts(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { accepts($0) }
    }
}
