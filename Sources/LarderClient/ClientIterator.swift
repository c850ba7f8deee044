/// The elements of one of the client's sequences, made one at each call of `next()`.
public struct ClientIterator<Element: Sendable>: AsyncIteratorProtocol {
    private let make: () async throws(LarderError) -> Element?

    init(_ make: @escaping () async throws(LarderError) -> Element?) { self.make = make }

    /// The next element; nil after the last.
    public mutating func next() async throws(LarderError) -> Element? { try await make() }

    /// The same, called by `for try await`.
    public mutating func next(
        isolation actor: isolated (any Actor)?
    ) async throws(LarderError) -> Element? {
        try await make()
    }
}
