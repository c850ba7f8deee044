package import LarderAPI
package import LarderModel
package import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Logging
import Synchronization

/// The credentials that users gave for their accounts, as `state.db` has them; guarded by a lock.
final class CredentialTable: Sendable {
    private struct Held {
        let stored: StoredCredential
        let number: Int
        var isRefused = false
    }

    private struct State {
        var held: [CredentialName: Held] = [:]
        var lastNumber = 0

        mutating func set(_ stored: StoredCredential) {
            lastNumber += 1
            held[stored.name] = Held(stored: stored, number: lastNumber)
        }
    }

    private let state: Mutex<State>
    // Relaxed: it only keeps requests from looking into the table while no user has a credential.
    private let isUsed: Atomic<Bool>
    /// Lets changes in one after the other, so that this table and the file agree on the last one.
    let changes = Turnstile(places: 1)

    init(_ stored: [StoredCredential]) {
        var state = State()
        for stored in stored { state.set(stored) }
        isUsed = Atomic(!stored.isEmpty)
        self.state = Mutex(state)
    }

    func set(_ stored: StoredCredential) {
        state.withLock { $0.set(stored) }
        isUsed.store(true, ordering: .relaxed)
    }

    func remove(where isRemoved: (CredentialName) -> Bool) {
        state.withLock { state in state.held = state.held.filter { !isRemoved($0.key) } }
    }

    /// The credential that a scope's requests to an origin carry.
    ///
    /// An origin that moved to another host gets none: the user gave it to the host before.
    func credential(of scope: Scope, at origin: OriginSettings) -> Credential? {
        held(scope, origin)?.stored.credential
    }

    func isRefused(_ scope: Scope, at origin: OriginSettings) -> Bool {
        held(scope, origin)?.isRefused ?? false
    }

    private func held(_ scope: Scope, _ origin: OriginSettings) -> Held? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        let held = state.withLock { $0.held[CredentialName(scope, at: origin.name)] }
        return held?.stored.address == origin.baseURL.originText ? held : nil
    }

    /// An origin's settings for the requests of a scope.
    func settings(of origin: OriginSettings, for scope: Scope) -> OriginSettings {
        guard let held = held(scope, origin) else { return origin }
        return origin.with(held.stored.credential, of: held.stored.name, number: held.number)
    }

    /// Notes whether the origin took the credential of a request.
    func noteAnswer(_ status: Int, to request: UpstreamRequest) {
        guard let account = request.origin.account,
            request.url.originText == request.origin.baseURL.originText,
            status < 400 || status == 401 || status == 407
        else { return }
        state.withLock { state in
            guard state.held[account.name]?.number == account.number else { return }
            state.held[account.name]?.isRefused = status >= 400
        }
    }

    /// Credentials that users gave before the daemon last ended.
    static func stored(_ store: Store, _ logger: Logger) -> [StoredCredential] {
        do throws(StoreError) {
            return try store.credentials()
        } catch {
            logger.error(
                "the credentials of users cannot be read",
                metadata: .larder([.reason: "\(error.message)"])
            )
            return []
        }
    }
}

/// Credentials that users give the daemon for their accounts at origins.
package struct Credentials: EnginePart {
    let context: EngineContext
    private var table: CredentialTable { context.credentials }

    package func report(
        _ name: OriginName,
        _ scope: ScopeKey
    ) async throws(Problem) -> CredentialReport {
        try await report(at: context.origin(named: name, for: scope.scope.uid), scope)
    }

    /// Sets a credential; it is on disk when this returns, and what waited for it goes on.
    package func set(
        _ command: CredentialCommand,
        at name: OriginName,
        _ scope: ScopeKey
    ) async throws(Problem) -> CredentialReport {
        let origin = try context.origin(named: name, for: scope.scope.uid)
        let header = command.header ?? "Authorization"
        try RequestHeaderRules.credential(header, command.value)
        guard !header.isEqual(to: origin.modifiers.idempotency.header) else {
            throw Problem(.badRequest, "header: '\(header)' carries the key of each modifier")
        }
        let stored = StoredCredential(
            CredentialName(scope.scope, at: name),
            address: origin.baseURL.originText,
            Credential(
                header: header,
                value: command.value,
                setAt: clock.now(),
                expires: command.expires.map { Timestamp(milliseconds: $0.milliseconds) }
            )
        )
        try await table.changes.pass { () async throws(Problem) in
            try await storing(await store.setCredential(stored))
            table.set(stored)
        }
        changed(stored.name, "set")
        return try await report(at: origin, scope)
    }

    package func remove(
        at name: OriginName,
        _ scope: ScopeKey
    ) async throws(Problem) -> CredentialReport {
        let origin = try context.origin(named: name, for: scope.scope.uid)
        let removed = CredentialName(scope.scope, at: name)
        try await table.changes.pass { () async throws(Problem) in
            try await storing(await store.removeCredential(removed))
            table.remove { $0 == removed }
        }
        changed(removed, "removed")
        return try await report(at: origin, scope)
    }

    private func changed(_ name: CredentialName, _ state: String) {
        // Answers that are ready to be sent again may be from a row that the user sees no more.
        store.setOrigins(context.origins.names)
        context.modifiers.post(
            .told { $0.credentialChanged(at: name.origin, of: name.scope, now: $1) }
        )
        context.keeper.post(.originChanged(name.origin))
        logger.notice(
            "the credential of an account changed",
            metadata: .larder([
                .origin: "\(name.origin)", .uid: "\(name.scope.uid ?? 0)", .state: "\(state)",
            ])
        )
    }

    private func report(
        at origin: OriginSettings,
        _ scope: ScopeKey
    ) async throws(Problem) -> CredentialReport {
        let name = CredentialName(scope.scope, at: origin.name)
        let counts = try await storing(await store.modifiers.waitingCounts(name))
        var report = CredentialReport(
            account: scope.scope.account.text,
            refused: counts.refused > 0 || table.isRefused(scope.scope, at: origin),
            waiting: counts.all
        )
        if let credential = table.credential(of: scope.scope, at: origin) {
            report.source = .user
            report.header = credential.header
            report.setAt = .init(credential.setAt)
            report.expires = credential.expires.map { .init($0) }
        } else if let field = origin.headers.fields.first(where: {
            HeaderFields.holdsSecret($0.name)
        }) {
            (report.source, report.header) = (.origin, field.name)
        }
        return report
    }
}
