/// What was found of a folder's reserve.
package struct ReserveFinding: Equatable, Sendable {
    package let path: String
    /// How large it is to be.
    package let bytes: Int64
    package let state: State

    package enum State: Equatable, Sendable {
        /// It is there, with its space.
        case held
        /// It is not there, or cut short, and there is room for it.
        case missing
        /// It is not there, and as many more bytes have to be free on its disk.
        case noRoom(short: Int64)
        /// Something else stands under its name.
        case obstructed
    }
}
