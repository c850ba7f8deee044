package import LarderModel

/// A credential as its user gave it, with the one address to which it may be sent.
package struct StoredCredential: Equatable, Sendable {
    package let name: CredentialName
    /// Scheme, host and port of the origin when the credential was set.
    package let address: String
    package let credential: Credential
    /// Absolute path of the file that has the value; nil for a value that was given itself.
    package let file: String?

    package init(
        _ name: CredentialName,
        address: String,
        _ credential: Credential,
        file: String? = nil
    ) {
        self.name = name
        self.address = address
        self.credential = credential
        self.file = file
    }

    /// The column `address`: no address has a space, so what is after one is the file.
    fileprivate var place: String { file.map { "\(address) \($0)" } ?? address }
}

/// The table `credential` of `state.db`: the only place of the secrets that users give.
struct CredentialRows {
    let connection: SQLiteConnection

    static let all = """
        SELECT scope, origin, address, header, value, set_at, expires_at FROM credential
        """

    /// Spaces before each value.
    ///
    /// The spaces fill the part of a row that SQLite moves between pages, where it leaves bytes
    /// behind. The value is in overflow pages, and a removal overwrites those.
    private static let padding = String(repeating: " ", count: RebuiltSchema.pageBytes)

    /// The rows that can be read; a damaged one is left out, so that nothing wrong is sent.
    func read() throws(StoreError) -> [StoredCredential] {
        try connection.statement(Self.all).all { row in
            var numbers = RowNumbers(row)
            let (setAt, expires) = (numbers.moment("set_at"), numbers.momentOrNil("expires_at"))
            guard let scope = row.scope("scope"), scope.uid != nil,
                let origin = row.text("origin").flatMap({ try? OriginName($0) }),
                let address = row.text("address"), let header = row.text("header"),
                let value = row.text("value"), numbers.areSound
            else { return nil }
            let parts = address.split(separator: " ", maxSplits: 1).map(String.init)
            return StoredCredential(
                CredentialName(scope, at: origin),
                address: parts.first ?? "",
                Credential(
                    header: header,
                    value: String(value.drop { $0 == " " }),
                    setAt: setAt,
                    expires: expires
                ),
                file: parts.count > 1 ? parts[1] : nil
            )
        }
    }

    /// Throws `overloaded` if the user has too many.
    func set(_ stored: StoredCredential) throws(StoreError) {
        try remove(stored.name)
        let user = RowScopes.user(stored.name.scope.uid ?? 0)
        let sql = "SELECT count(*) FROM credential WHERE \(user.condition)"
        let count = try connection.statement(sql, of: user).first { $0.integer(.only) }
        guard count ?? 0 < Limits.credentialsPerUserMax else { throw .overloaded }
        try connection.statement(
            """
            INSERT INTO credential (scope, origin, address, header, value, set_at, expires_at)
            VALUES (:scope, :origin, :address, :header, :value, :set_at, :expires_at)
            """
        ).run(
            (":scope", stored.name.scope.text),
            (":origin", stored.name.origin.text),
            (":address", stored.place),
            (":header", stored.credential.header),
            (":value", Self.padding + stored.credential.value),
            (":set_at", stored.credential.setAt.milliseconds),
            (":expires_at", stored.credential.expires?.milliseconds)
        )
    }

    func remove(_ name: CredentialName) throws(StoreError) {
        try overwriting { () throws(StoreError) in
            try connection.statement(
                "DELETE FROM credential WHERE scope = :scope AND origin = :origin"
            ).run((":scope", name.scope.text), (":origin", name.origin.text))
        }
    }

    func forget(_ scopes: RowScopes) throws(StoreError) {
        try overwriting { () throws(StoreError) in
            let sql = "DELETE FROM credential WHERE \(scopes.condition)"
            try connection.statement(sql, of: scopes).run()
        }
    }

    /// Writes zeroes over what is deleted; else the file has the secret until its page is reused.
    private func overwriting(_ delete: () throws(StoreError) -> Void) throws(StoreError) {
        try connection.execute("PRAGMA secure_delete=ON")
        let result = Result { () throws(StoreError) in try delete() }
        try connection.execute("PRAGMA secure_delete=OFF")
        try result.get()
    }
}

extension Store {
    /// All credentials of users; asked once at start, with a connection of its own.
    package func credentials() throws(StoreError) -> [StoredCredential] {
        try CredentialRows(connection: stateFile.file.openReader(cacheBytes: 0)).read()
    }

    /// Saves a credential in place of the one before; synced when it returns.
    ///
    /// Throws `overloaded` if the user has ``Limits/credentialsPerUserMax`` others.
    package func setCredential(_ stored: StoredCredential) async throws(StoreError) {
        try stateFile.refuseWhileFull("save a credential")
        try await stateFile.commits.submit { writer throws(StoreError) in
            try writer.state.credentials.set(stored)
        }
    }

    package func removeCredential(_ name: CredentialName) async throws(StoreError) {
        try await stateFile.settle { writer throws(StoreError) in
            try writer.state.credentials.remove(name)
        }
    }
}

extension ModifierStore {
    /// The number of an account's modifiers at an origin that wait to be sent, and of those among
    /// them whose credential was refused or is missing.
    package func waitingCounts(
        _ name: CredentialName
    ) async throws(StoreError) -> (all: Int, refused: Int) {
        try await store.read { reader throws(StoreError) in
            let counts = try reader.stateReader().connection.statement(
                """
                SELECT count(*) AS count, coalesce(sum(state = 'auth_wait'), 0) AS refused
                FROM modifier WHERE settled_at IS NULL AND scope = :scope AND origin = :origin
                    AND state IN ('held', 'queued', 'retry_wait', 'unknown', 'auth_wait')
                """,
                (":scope", name.scope.text),
                (":origin", name.origin.text)
            ).first { row in (Int(row.integer("count")), Int(row.integer("refused"))) }
            return counts ?? (0, 0)
        }
    }
}
