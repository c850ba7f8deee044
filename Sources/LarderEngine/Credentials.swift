package import LarderAPI
package import LarderModel
package import LarderStore
import LarderStrategy
import LarderWire
import Logging

/// Credentials that users give the daemon for their accounts at origins.
package struct Credentials: EnginePart {
    /// Gives the one line of a file.
    package typealias FileReader = @Sendable (String) throws(Problem) -> String

    package static let readsNoFile: FileReader = { path throws(Problem) in
        throw Problem(.badRequest, "file: \(path) cannot be read")
    }

    let context: EngineContext
    let readFile: FileReader
    private var table: CredentialTable { context.credentials }

    package func report(
        _ name: OriginName,
        _ scope: ScopeKey
    ) async throws(Problem) -> CredentialReport {
        let origin = try context.origin(named: name, for: scope.scope.uid)
        return try await report(on: CredentialName(scope.scope, at: name), at: origin)
    }

    /// Sets a credential; it is on disk when this returns, and what waited for it goes on.
    package func set(
        _ command: CredentialCommand,
        at name: OriginName,
        _ scope: ScopeKey
    ) async throws(Problem) -> CredentialReport {
        let origin = try context.origin(named: name, for: scope.scope.uid)
        let header = command.header ?? "Authorization"
        let value = try value(of: command, CredentialName(scope.scope, at: name))
        try RequestHeaderRules.credential(header, value)
        guard !header.isEqual(to: origin.modifiers.idempotency.header) else {
            throw Problem(.badRequest, "header: '\(header)' carries the key of each modifier")
        }
        let stored = StoredCredential(
            CredentialName(scope.scope, at: name),
            address: origin.baseURL.originText,
            Credential(
                header: header,
                value: value,
                setAt: clock.now(),
                expires: command.expires.map { Timestamp(milliseconds: $0.milliseconds) }
            ),
            file: command.file
        )
        try await table.inTurn(of: stored.name.scope.uid) { () async throws(Problem) in
            try table.saving(stored.name, under: command.lease)
            try await save(stored)
        }
        changed(stored.name, "set")
        return try await report(on: stored.name, at: origin)
    }

    private func save(_ stored: StoredCredential) async throws(Problem) {
        do throws(StoreError) {
            try await store.setCredential(stored)
        } catch {
            table.notSaved(stored.name)
            throw Problem(error)
        }
        table.set(stored)
    }

    /// The given value, or that of the file, which the daemon reads with its own rights.
    private func value(
        of command: CredentialCommand,
        _ name: CredentialName
    ) throws(Problem) -> String {
        switch (command.value, command.file) {
        case (let value?, nil): return value
        case (nil, let file?):
            guard let owner = context.origins.owner, owner == name.scope.uid else {
                throw Problem(
                    .notPermitted,
                    "file: this daemon is not the user's own, and reads no file for a user",
                    hint: "Give the content: \(name.loginCommand) --file FILE"
                )
            }
            return try readFile(file)
        case (nil, nil), (_?, _?):
            throw Problem(.badRequest, "exactly one of value and file is needed")
        }
    }

    /// Reads the files of users' credentials again.
    ///
    /// If a file cannot be read or has no valid value, the last value stays.
    package func readFiles() async {
        for old in table.inFiles {
            let header = old.credential.header
            guard let file = old.file, let value = try? readFile(file),
                value != old.credential.value,
                (try? RequestHeaderRules.credential(header, value)) != nil
            else { continue }
            let credential = Credential(header: header, value: value, setAt: clock.now())
            let new = StoredCredential(old.name, address: old.address, credential, file: file)
            do throws(Problem) {
                let isTaken = try await table.inTurn(of: old.name.scope.uid) {
                    () async throws(Problem) in
                    // The user may have given another one meanwhile.
                    guard table.isHeld(old) else { return false }
                    try await save(new)
                    return true
                }
                if isTaken { changed(old.name, "read") }
            } catch {
                logger.error(
                    "the file of a credential was not taken",
                    metadata: .larder([.reason: "\(error.detail)"])
                )
            }
        }
    }

    package func remove(
        at name: OriginName,
        _ scope: ScopeKey
    ) async throws(Problem) -> CredentialReport {
        let removed = CredentialName(scope.scope, at: name)
        // A credential that was given outlives its origin in the configuration.
        let origin: OriginSettings?
        do throws(Problem) {
            origin = try context.origin(named: name, for: scope.scope.uid)
        } catch {
            guard table.holds(removed) else { throw error }
            origin = nil
        }
        try await table.inTurn(of: removed.scope.uid) { () async throws(Problem) in
            try await storing(await store.removeCredential(removed))
            table.remove { $0 == removed }
        }
        changed(removed, "removed")
        return try await report(on: removed, at: origin)
    }

    private func changed(_ name: CredentialName, _ state: String) {
        // Answers that are ready to be sent again may be from a row that the user sees no more.
        store.noteCredentialChange()
        context.modifiers.post(
            .told { $0.credentialChanged(at: name.origin, of: name.scope, now: $1) }
        )
        context.keeper.post(.originChanged(name.origin, of: name.scope.uid))
        logger.notice(
            "the credential of an account changed",
            metadata: .larder([
                .origin: "\(name.origin)", .uid: "\(name.scope.uid ?? 0)", .state: "\(state)",
            ])
        )
    }

    private func report(
        on name: CredentialName,
        at origin: OriginSettings?
    ) async throws(Problem) -> CredentialReport {
        let counts = try await storing(await store.modifiers.waitingCounts(name))
        var report = CredentialReport(
            account: name.scope.account.text,
            refused: counts.refused > 0 || table.isRefused(name),
            waiting: counts.all
        )
        guard let origin else { return report }
        if let current = table.current(of: name.scope, at: origin) {
            (report.source, report.header) = (current.source, current.credential.header)
            if current.source == .user { report.setAt = .init(current.credential.setAt) }
            report.expires = current.credential.expires.map { .init($0) }
        } else if let field = origin.headers.fields.first(where: {
            HeaderFields.holdsSecret($0.name)
        }) {
            (report.source, report.header) = (.origin, field.name)
        }
        return report
    }

    /// Waits until a client has to renew the credential of its account, and until its lease ends.
    ///
    /// `tell` takes the order and returns false if the client does not read it. The lease ends with
    /// the next credential, after ``Limits/renewalLeaseTime``, or when the client hangs up.
    ///
    /// Returns false without an order when the time is over or the client hangs up.
    package func order(
        at name: OriginName,
        _ scope: ScopeKey,
        wait time: Duration?,
        cancellation: ClientCancellation,
        tell: (RenewalOrder) async -> Bool
    ) async throws(Problem) -> Bool {
        let account = CredentialName(scope.scope, at: name)
        let end = time.map { clock.monotonic() + $0 }
        guard let order = try await nextOrder(account, until: end, cancellation) else {
            return false
        }
        defer { table.leaseEnded(order.lease, account) }
        guard await tell(order) else { return true }
        _ = try? await context.wait(
            upTo: Limits.renewalLeaseTime,
            cancellation,
            on: table.news,
            until: { () async throws(Problem) -> Void? in
                table.isHeld(order.lease, account) ? nil : ()
            }
        )
        return true
    }

    private func nextOrder(
        _ account: CredentialName,
        until end: Duration?,
        _ cancellation: ClientCancellation
    ) async throws(Problem) -> RenewalOrder? {
        guard let client = table.join(account, now: clock.monotonic()) else {
            throw Problem(
                .overloaded,
                "\(Limits.renewersPerUserMax) clients of this user wait for orders to renew already"
            )
        }
        defer { table.leave(client, account) }
        let lease = context.modifierID(at: clock.now()).text
        while true {
            let seen = table.edition
            let origin = try context.origin(named: account.origin, for: account.scope.uid)
            let (now, moment) = (clock.now(), clock.monotonic())
            let isDown = context.originStates.isDown(origin.name)
            let step = table.next(client, account, at: origin, isDown: isDown, lease, now, moment)
            var due = moment + Limits.renewalLookTime
            switch step {
            case .renew(let reason):
                note(account, reason)
                return RenewalOrder(reason == .refused ? .refused : .expiring, lease: lease)
            case .wait(let until): due = [until, end].compactMap { $0 }.reduce(due, min)
            }
            let outcome = try await context.wait(
                upTo: due - moment,
                cancellation,
                on: table.news,
                until: { () async throws(Problem) -> Void? in
                    table.edition == seen ? nil : ()
                }
            )
            switch outcome {
            case .came: break
            case .ended(.timeIsOver):
                if let end, clock.monotonic() >= end { return nil }
            case .ended(.clientLeft): return nil
            case .ended(.daemonEnds): throw .daemonEnds
            }
        }
    }

    private func note(_ account: CredentialName, _ reason: RenewalMachine.Reason) {
        logger.info(
            "a client is asked to renew a credential",
            metadata: .larder([
                .origin: "\(account.origin)", .uid: "\(account.scope.uid ?? 0)",
                .reason: "\(reason)",
            ])
        )
    }
}
