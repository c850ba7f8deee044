/// Puts the members of a property's value among the members of the object around it.
///
///     @Flattened public var rows: UsageSum
///
/// They take the place of the property. The name of the property does not travel.
@propertyWrapper
public struct Flattened<Value: Codable> {
    /// The value of the property.
    public var wrappedValue: Value

    /// A property with this value.
    public init(wrappedValue: Value) {
        self.wrappedValue = wrappedValue
    }
}

extension Flattened: Sendable where Value: Sendable {}
extension Flattened: Equatable where Value: Equatable {}
extension Flattened: Hashable where Value: Hashable {}

extension Flattened: Codable {
    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        wrappedValue = try Value(from: decoder)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        try wrappedValue.encode(to: encoder)
    }
}

// The compiler takes these in the code that it makes for a type with such a property. The coder
// of the API has the object itself for a superclass.

extension KeyedEncodingContainer {
    /// Writes the members of the value.
    public mutating func encode<Value>(_ property: Flattened<Value>, forKey key: Key) throws {
        try property.wrappedValue.encode(to: superEncoder(forKey: key))
    }
}

extension KeyedDecodingContainer {
    /// Reads the members of the value.
    public func decode<Value>(
        _ type: Flattened<Value>.Type,
        forKey key: Key
    ) throws -> Flattened<Value> {
        Flattened(wrappedValue: try Value(from: superDecoder(forKey: key)))
    }
}
