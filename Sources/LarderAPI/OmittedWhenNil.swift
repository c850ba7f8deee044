/// Leaves the member of an optional property out where it has no value, in place of `null`.
///
///     @OmittedWhenNil public var restsUntil: Timestamp?
@propertyWrapper
public struct OmittedWhenNil<Value: Codable> {
    /// The value of the property.
    public var wrappedValue: Value?

    /// A property with this value.
    public init(wrappedValue: Value?) {
        self.wrappedValue = wrappedValue
    }
}

extension OmittedWhenNil: Sendable where Value: Sendable {}
extension OmittedWhenNil: Equatable where Value: Equatable {}
extension OmittedWhenNil: Hashable where Value: Hashable {}

/// Outside of an object there is nothing to leave out, so the value is written as any optional is.
extension OmittedWhenNil: Codable {
    /// Reads a value or null.
    public init(from decoder: any Decoder) throws {
        wrappedValue = try Value?(from: decoder)
    }

    /// Writes the value or null.
    public func encode(to encoder: any Encoder) throws {
        try wrappedValue.encode(to: encoder)
    }
}

// The compiler takes these in the code that it makes for a type with such a property.

extension KeyedEncodingContainer {
    /// Writes the member only where there is a value.
    public mutating func encode<Value>(
        _ property: OmittedWhenNil<Value>,
        forKey key: Key
    ) throws {
        guard let value = property.wrappedValue else { return }
        try encode(value, forKey: key)
    }
}

extension KeyedDecodingContainer {
    /// Reads a member that may be missing or null; of ``RawJSON``, null is a value.
    public func decode<Value>(
        _ type: OmittedWhenNil<Value>.Type,
        forKey key: Key
    ) throws -> OmittedWhenNil<Value> {
        guard Value.self == RawJSON.self, contains(key) else {
            return OmittedWhenNil(wrappedValue: try decodeIfPresent(Value.self, forKey: key))
        }
        return OmittedWhenNil(wrappedValue: try decode(Value.self, forKey: key))
    }
}
