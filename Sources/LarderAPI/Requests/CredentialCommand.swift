/// A credential that a user gives for an account at an origin.
public struct CredentialCommand: Codable, Equatable, Sendable {
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?
    /// Name of the header field; without it, `Authorization`.
    @OmittedWhenNil public var header: String?
    /// The secret: the whole value of the header field, up to 16 KiB.
    public var value: String
    /// Time until which the origin is likely to take it.
    @OmittedWhenNil public var expires: Timestamp?

    /// A value for `Authorization`.
    public init(value: String) {
        self.value = value
    }
}
