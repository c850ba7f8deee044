extension [UInt8] {
    /// `withUnsafeBytes` for a body with a typed error.
    func withRawBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(JSONError) -> Result
    ) throws(JSONError) -> Result {
        try withUnsafeBufferPointer { (buffer) throws(JSONError) -> Result in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }
}
