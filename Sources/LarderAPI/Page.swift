/// Items of a list, up to the limit of the request.
public struct Page<Item: Codable & Sendable>: Codable, Sendable {
    /// The items, in the order of the list.
    public var items: [Item]
    /// The value of `cursor` that asks for the next page; null on the last page.
    public var next: String?

    /// A page with these items.
    public init(items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension Page: Equatable where Item: Equatable {}
