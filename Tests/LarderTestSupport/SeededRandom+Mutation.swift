extension SeededRandom {
    /// Changes, removes, doubles or inserts a byte of a text that is near to JSON, or cuts it.
    package mutating func mutate(_ text: inout [UInt8]) {
        guard let place = text.indices.randomElement(using: &self) else { return }
        let telling = Array("{}[]\",:0123.-+tfneE\\ \n\tabru/".utf8)
        let byte =
            Bool.random(using: &self)
            ? telling.randomElement(using: &self) ?? 0 : UInt8.random(in: 0...0xFF, using: &self)
        switch Int.random(in: 0...4, using: &self) {
        case 0: text[place] = byte
        case 1: text.remove(at: place)
        case 2: text.insert(text[place], at: place)
        case 3: text.insert(byte, at: place)
        default: text.removeSubrange(place...)
        }
    }
}
