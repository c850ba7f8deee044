import LarderAPI
import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import Logging
import Synchronization

/// The credentials that users gave for their accounts, as `state.db` has them, and the clients that
/// renew them; guarded by a lock.
final class CredentialTable: Sendable {
    private struct Held {
        let stored: StoredCredential
        let number: Int
    }

    /// The credential that counts for an account: the user's own, or else the configured one.
    struct Current {
        let credential: Credential
        let number: Int
        let source: CredentialSource
    }

    private struct State {
        var held: [CredentialName: Held] = [:]
        /// Accounts whose credential, or request without one, the origin refused last.
        var refused: Set<CredentialName> = []
        var renewals: [CredentialName: RenewalMachine] = [:]
        var renewers = Quota<UInt32?>(each: Limits.renewersPerUserMax)
        /// By user: no user waits for the changes of another.
        var turns: [UInt32?: AsyncSemaphore] = [:]
        var lastNumber = 0
        /// A number that each change of what renewals depend on raises.
        var edition = 0

        mutating func set(_ stored: StoredCredential) {
            lastNumber += 1
            held[stored.name] = Held(stored: stored, number: lastNumber)
            changed(stored.name)
        }

        mutating func changed(_ name: CredentialName) {
            refused.remove(name)
            renewals[name]?.credentialChanged()
        }

        func current(_ name: CredentialName, at origin: OriginSettings) -> Current? {
            if let held = held[name], held.stored.address == origin.baseURL.originText {
                let credential = held.stored.credential
                return Current(credential: credential, number: held.number, source: .user)
            }
            guard let own = origin.credential, own.covers(name.scope) else { return nil }
            let (credential, number) = (own.credential, own.number)
            return Current(credential: credential, number: number, source: .configuration)
        }

        mutating func noteRefusal(of name: CredentialName) -> Bool {
            if held[name] == nil, !refused.contains(name) {
                let others = refused.count { $0.scope.uid == name.scope.uid && held[$0] == nil }
                guard others < Limits.refusedAccountsPerUserMax else { return false }
            }
            return refused.insert(name).inserted
        }
    }

    private let state: Mutex<State>
    // Relaxed: it only keeps requests from looking into the table while there is nothing in it.
    private let isUsed: Atomic<Bool>
    /// Told when a client may have to renew, a lease may have ended, or an origin has changed.
    let news = Listeners()

    init(_ stored: [StoredCredential]) {
        var state = State()
        for stored in stored { state.set(stored) }
        isUsed = Atomic(!stored.isEmpty)
        self.state = Mutex(state)
    }

    /// Makes a user's changes one after the other, so that this table and the file agree on the last.
    func inTurn<Value>(
        of uid: UInt32?,
        _ work: () async throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let turns = state.withLock { state in
            let turns = state.turns[uid] ?? AsyncSemaphore(places: 1)
            state.turns[uid] = turns
            return turns
        }
        return try await turns.pass(work)
    }

    /// The credentials whose values are in files.
    var inFiles: [StoredCredential] {
        state.withLock { $0.held.values.map(\.stored).filter { $0.file != nil } }
    }

    func isHeld(_ stored: StoredCredential) -> Bool {
        state.withLock { $0.held[stored.name]?.stored == stored }
    }

    func holds(_ name: CredentialName) -> Bool { state.withLock { $0.held[name] != nil } }

    func set(_ stored: StoredCredential) {
        change { $0.set(stored) }
        isUsed.store(true, ordering: .relaxed)
    }

    func remove(where isRemoved: (CredentialName) -> Bool) {
        change { state in
            state.held = state.held.filter { !isRemoved($0.key) }
            let others = state.refused.union(state.renewals.keys)
            for name in others where isRemoved(name) { state.changed(name) }
        }
    }

    /// The configuration may have other credentials.
    func originsChanged(_ old: OriginTable, _ new: OriginTable) {
        change { state in
            for name in state.refused.union(state.renewals.keys) where state.held[name] == nil {
                let (before, after) = (old[name.origin]?.settings, new[name.origin]?.settings)
                if before?.credential != after?.credential || before?.headers != after?.headers {
                    state.changed(name)
                }
            }
        }
    }

    func isRefused(_ name: CredentialName) -> Bool {
        state.withLock { $0.refused.contains(name) }
    }

    /// Accounts of a user whose credential, or request without one, the origin refused last.
    func refused(of uid: UInt32) -> [CredentialName] {
        state.withLock { $0.refused.filter { $0.scope.uid == uid } }
            .sorted { $0.loginCommand < $1.loginCommand }
    }

    /// The credential that a scope's requests to an origin carry.
    ///
    /// An origin that moved to another host gets none of a user's own: the user gave it to the host
    /// before.
    func current(of scope: Scope, at origin: OriginSettings) -> Current? {
        guard origin.credential != nil || isUsed.load(ordering: .relaxed) else { return nil }
        return state.withLock { $0.current(CredentialName(scope, at: origin.name), at: origin) }
    }

    func settings(of origin: OriginSettings, for scope: Scope) -> OriginSettings {
        guard let current = current(of: scope, at: origin) else { return origin }
        let name = CredentialName(scope, at: origin.name)
        return origin.with(current.credential, of: name, number: current.number)
    }

    // MARK: Answers of origins

    /// Notes whether the origin took the credential of a request, which is for a client in a scope.
    func noteAnswer(
        _ status: Int,
        to request: UpstreamRequest,
        for scope: Scope,
        in context: EngineContext
    ) {
        let isRefused = status == 401 || status == 407
        guard status < 400 || isRefused, isRefused || isUsed.load(ordering: .relaxed),
            request.url.originText == request.origin.baseURL.originText
        else { return }
        let account = request.origin.account
        // A secret among the client's own headers is not the account's.
        guard
            account != nil || request.purpose == .write
                || !request.headers.fields.contains(where: { HeaderFields.holdsSecret($0.name) })
        else { return }
        let name = account?.name ?? CredentialName(scope, at: request.origin.name)
        let origin = context.origins[request.origin.name]?.settings ?? request.origin
        note(name, origin, account?.number, isRefused: isRefused, context.clock.monotonic())
    }

    /// Notes that a write was not sent, as its account has no credential.
    func noteMissing(_ scope: Scope, at origin: OriginSettings) {
        let name = CredentialName(scope, at: origin.name)
        note(name, origin, origin.account?.number, isRefused: true, .zero)
    }

    /// `number` is that of the credential of the request, which may not be the last one.
    private func note(
        _ name: CredentialName,
        _ origin: OriginSettings,
        _ number: Int?,
        isRefused: Bool,
        _ now: Duration
    ) {
        guard name.scope.uid != nil else { return }
        let isUpdate = state.withLock { state in
            guard state.current(name, at: origin)?.number == number else { return false }
            guard !isRefused else {
                guard state.noteRefusal(of: name) else { return false }
                state.edition += 1
                return true
            }
            state.refused.remove(name)
            state.renewals[name]?.credentialTaken(now: now)
            return false
        }
        guard isUpdate else { return }
        isUsed.store(true, ordering: .relaxed)
        news.tell()
    }

    // MARK: Renewals

    var edition: Int { state.withLock { $0.edition } }

    /// Tells clients that wait that something has changed for them.
    func noteNews() { change { _ in } }

    private func change(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            state.edition += 1
        }
        news.tell()
    }

    /// A client waits for the order to renew; nil if its user has too many.
    func join(_ name: CredentialName, now: Duration) -> Int? {
        state.withLock { state in
            guard state.renewers.take(name.scope.uid) else { return nil }
            state.renewals = state.renewals.filter { $0.key == name || !$0.value.isIdle(now: now) }
            state.lastNumber += 1
            state.renewals[name, default: RenewalMachine()].clientCame(state.lastNumber)
            return state.lastNumber
        }
    }

    /// Whether a client renews the credential with which an origin was asked, or has renewed it.
    func isRenewed(_ origin: OriginSettings, _ scope: Scope) -> Bool {
        let name = origin.account?.name ?? CredentialName(scope, at: origin.name)
        return state.withLock { state in
            state.current(name, at: origin)?.number != origin.account?.number
                || state.renewals[name]?.hasClient == true
        }
    }

    func leave(_ client: Int, _ name: CredentialName) {
        change { state in
            state.renewers.release(name.scope.uid)
            state.renewals[name]?.clientLeft(client)
        }
    }

    /// The next step of a client that waits.
    ///
    /// While the origin is down no order is due to an end that is near: the client could not reach
    /// it either.
    func next(
        _ client: Int,
        _ name: CredentialName,
        at origin: OriginSettings,
        isDown: Bool,
        _ lease: String,
        _ now: Timestamp,
        _ moment: Duration
    ) -> RenewalMachine.Step {
        state.withLock { state in
            var need: RenewalMachine.Need?
            if state.refused.contains(name) {
                need = RenewalMachine.Need(.refused, due: moment)
            } else if !isDown,
                let time = state.current(name, at: origin)?.credential.renewalTime
            {
                need = RenewalMachine.Need(.expiring, due: moment + time.since(now))
            }
            return state.renewals[name]?.next(for: client, need, lease: lease, now: moment)
                ?? .wait(until: nil)
        }
    }

    func isHeld(_ lease: String, _ name: CredentialName) -> Bool {
        state.withLock { $0.renewals[name]?.isHeld(lease) ?? false }
    }

    func leaseEnded(_ lease: String, _ name: CredentialName) {
        change { $0.renewals[name]?.leaseEnded(lease) }
    }

    /// A credential is about to be saved; throws if it comes under a lease that counts no more.
    func saving(_ name: CredentialName, under lease: String?) throws(Problem) {
        guard let lease else { return }
        guard state.withLock({ $0.renewals[name]?.saving(under: lease) ?? false }) else {
            throw Problem(.leaseOver, "lease: it has ended, the credential stays as it is")
        }
    }

    func notSaved(_ name: CredentialName) {
        change { $0.renewals[name]?.notSaved() }
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
