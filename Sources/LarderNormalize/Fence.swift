import LarderJSON

/// Members of an entity that an answer must not overwrite, as a write has overtaken it (P-06).
struct Fence: Sendable {
    private let names: Set<[UInt8]>
    let coversAll: Bool

    init(_ touched: TouchedMembers) {
        switch touched {
        case .all:
            coversAll = true
            names = []
        case .members(let names):
            coversAll = false
            self.names = Set(names.map { Array($0.text.utf8) })
        }
    }

    func covers(_ name: UnsafeRawBufferPointer) -> Bool {
        coversAll || (!names.isEmpty && names.contains(Array(name)))
    }
}
