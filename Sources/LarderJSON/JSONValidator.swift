/// Checks that bytes are one JSON text, without building a value.
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

    /// Whether bytes are the beginning of a JSON text, and not all of it.
    package static func isCutOff(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var tokenizer = JSONTokenizer(bytes)
            do throws(JSONError) {
                while try tokenizer.next() != nil {}
                return false
            } catch {
                if case .unexpectedEnd = error { return true }
                return false
            }
        }
    }

    package static func accepts(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { accepts($0) }
    }
}
