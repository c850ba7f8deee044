/// A credential that a user gives for an account at an origin.
public struct CredentialCommand: Codable, Equatable, Sendable {
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?
    /// Name of the header field; without it, `Authorization`.
    @OmittedWhenNil public var header: String?
    /// The secret: the whole value of the header field, up to 16 KiB.
    @OmittedWhenNil public var value: String?
    /// Absolute path of a file that has the value on one line, instead of ``value``: for a daemon of
    /// the user's own, which reads it again when it changes.
    @OmittedWhenNil public var file: String?
    /// Time until which the origin is likely to take it.
    @OmittedWhenNil public var expires: Timestamp?
    /// Lease of the order to renew; without it, the credential counts in any case.
    @OmittedWhenNil public var lease: String?

    /// A value for `Authorization`.
    public init(value: String) {
        self.value = value
    }

    /// The value in a file, for `Authorization`.
    public init(file: String) {
        self.file = file
    }
}

/// A wait for the order to renew a credential.
public struct RenewalQuery: Codable, Equatable, Sendable {
    /// Time to wait; without it, until the order comes.
    ///
    /// - Range: 0ms...1h
    @OmittedWhenNil public var wait: Duration?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// A wait without end for the default account.
    public init() {}
}
