package import LarderModel
package import LarderStore
package import LarderWire

/// What a client on the raw routes gets.
package enum RawReply {
    case answer(RawAnswer)
    /// With the header fields that say what was tried.
    case problem(Problem, HeaderFields)
}

/// The origin's answer as one body.
package struct RawAnswer {
    package enum Body {
        /// None, or more than a frame shows.
        case empty
        case bytes([UInt8])
        /// It is kept in chunks.
        case stored(BodyReader)
        /// It comes from the origin as it is read; its length if the origin announced one.
        case passed(PassedBody, byteCount: Int64?)
    }

    package var status: Int
    /// Everything but the length.
    package var fields: HeaderFields
    package var body: Body
}
