import ArgumentParser
import LarderClient

/// Whose entries or writes a command is about; others' are for administrators.
struct ScopeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Those of that user, of all accounts unless --account names one; for "
                + "administrators.",
            valueName: "n"
        )
    )
    var uid: UInt32?

    @Flag(help: "Everybody's; for administrators.")
    var allUsers = false

    func validate() throws {
        guard uid == nil || !allUsers else {
            throw ValidationError("Give one of --uid and --all-users.")
        }
    }

    var areOthers: Bool { uid != nil || allUsers }

    /// The rows to ask for, where `options` may name an account.
    func scope(_ options: GlobalOptions) throws -> EntryScope {
        guard allUsers else { return options.scope(ofUser: uid) }
        guard options.account == nil else {
            throw ValidationError("--account does not go with --all-users.")
        }
        return .all
    }
}

extension GlobalOptions {
    /// The rows of a user, or one's own.
    func scope(ofUser uid: UInt32?) -> EntryScope {
        uid.map { .user($0, account: account) } ?? .own
    }
}

extension EntryOwner {
    /// As a person reads it: `1000`, `1000/work`, `everybody`.
    var words: String {
        switch self {
        case .user(let uid, "default"): "\(uid)"
        case .user(let uid, let account): "\(uid)/\(account)"
        case .everybody: "everybody"
        }
    }
}
