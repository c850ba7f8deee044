extension UInt8 {
    package var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
    package var isASCIILetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    package var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIILetter }
    /// Whether it may be in a token, such as a name of a header field (RFC 9110 5.6.2).
    package var isTokenCharacter: Bool {
        isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }

    /// Whether it is a space or a tab.
    package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// The value of a hexadecimal digit in either case; nil for any other byte.
    package var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The lower-case letter of an upper-case one, every other byte unchanged.
    package var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
