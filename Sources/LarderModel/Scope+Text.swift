extension Scope {
    /// Reads ``text``; nil for what is none.
    package init?(text: String) {
        if text == "shared" {
            self = .shared
            return
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let uid = Self.uid(parts[0]),
            let account = try? AccountName(String(parts[1]))
        else { return nil }
        self = .own(uid: uid, account: account)
    }

    /// A user's number as ``text`` spells it: digits only, none too many.
    package static func uid(_ text: some StringProtocol) -> UInt32? {
        guard let uid = UInt32(text), String(uid) == text else { return nil }
        return uid
    }
}
