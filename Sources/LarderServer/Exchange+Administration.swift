import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import Logging

extension Exchange {
    /// Whether the client is an administrator; asked on the connection's event loop.
    var isByAdministrator: Bool {
        get throws(Problem) { try server.administrators.include(peer, groups: groups) }
    }

    var you: ClientStatus {
        get throws(Problem) {
            let all = try groups().all
            return ClientStatus(
                user: peer.uid,
                groups: Array(all.sorted().prefix(Limits.toldGroupsMax)),
                administrator: try isByAdministrator
            )
        }
    }

    /// Rows that a selection names; throws if they are others' and the client is no administrator.
    ///
    /// `use` names the operation in the log.
    func rows(_ selection: ScopeSelection, for use: String) throws(Problem) -> RowScopes {
        if selection.isOthers {
            let account = selection.account.map { " account=\($0.text)" } ?? ""
            try requireAdministrator("\(use) scope=\(selection.text)\(account)")
        }
        return switch selection {
        case .own(let account): .one(scope(account))
        case .shared: .one(engine.store.key(for: .shared))
        case .user(let uid, let account?):
            .one(engine.store.key(for: .own(uid: uid, account: account)))
        case .user(let uid, nil): .user(uid)
        case .all: .all
        }
    }

    /// The same for what is about one row: without an account it is a user's default one.
    func row(_ selection: ScopeSelection, for use: String) throws(Problem) -> ScopeKey {
        var selection = selection
        if case .user(let uid, nil) = selection { selection = .user(uid, .default) }
        guard case .one(let scope) = try rows(selection, for: use) else {
            throw Problem(
                .badRequest,
                "scope: one row is asked for, which has one scope",
                hint: "Give scope=user:N, and account=NAME unless it is the default one."
            )
        }
        return scope
    }

    private func groups() throws(Problem) -> PeerGroups {
        do throws(ServerError) {
            return try PeerGroups(of: peer, on: writer.channel)
        } catch {
            throw Problem(.internal, "the kernel did not say which groups the client is in")
        }
    }

    /// Throws unless the client is an administrator, and logs the operation.
    ///
    /// `use` names the operation and its object in the log: `evict origin=api scope=all`.
    func requireAdministrator(
        _ use: String,
        refusing reason: String? = nil
    ) throws(Problem) {
        try requireAdministrator(refusing: reason)
        log(use: use)
    }

    /// The same where the body names the object: ``log(use:)`` follows once it is read.
    func requireAdministrator(refusing reason: String? = nil) throws(Problem) {
        guard try isByAdministrator else {
            let who = "uid \(peer.uid) is no administrator of this daemon"
            throw Problem(
                .notPermitted,
                reason.map { "\($0): \(who)" } ?? who,
                hint: server.administrators.hint
            )
        }
    }

    func log(use: String) {
        engine.logger.notice(
            "an administrator's right was used",
            metadata: .larder([.uid: "\(peer.uid)", .use: "\(use)"])
        )
    }
}

/// Objects of an administrator's command, for the log.
enum AuditWords {
    /// `evict origin=api dry_run=true`; parameters without a value are left out.
    static func use(_ verb: String, _ parameters: KeyValuePairs<String, String?>) -> String {
        parameters.reduce(into: verb) { words, parameter in
            guard let value = parameter.value else { return }
            words += " \(parameter.key)=\(shortened(value))"
        }
    }

    /// A command has up to ``Limits/evictIDsMax`` objects; a line of the log names the first.
    static func named(_ objects: [String]) -> String {
        let names = objects.prefix(shownMax).map(shortened).joined(separator: ",")
        let more = objects.count - shownMax
        return more > 0 ? "\(names) and \(more) more" : names
    }

    private static let shownMax = 5
    /// Characters of one object, whose id has up to ``Limits/idBytesMax`` bytes.
    private static let charactersMax = 200

    private static func shortened(_ text: String) -> String {
        text.count > charactersMax ? "\(text.prefix(charactersMax))…" : text
    }
}

extension EntryListQuery {
    var use: String { AuditWords.use("list", ["prefix": prefix, "origin": origin]) }
}

extension ModifierListCommand {
    var use: String {
        AuditWords.use("list modifiers", ["state": selection?.text, "lane": lane?.description])
    }
}

extension EvictCommand {
    var use: String {
        AuditWords.use(
            "evict",
            [
                "ids": ids.map(AuditWords.named), "prefix": prefix, "origin": origin,
                "older_than": olderThan?.unitText,
                "to_bytes": toBytes?.text, "all": all.map { "\($0)" },
                "dry_run": dryRun == true ? "true" : nil,
            ]
        )
    }
}
