package import LarderModel

extension ModifierQueue {
    /// The account has another credential at the origin, or an operator says that its credential is
    /// good.
    ///
    /// Without a scope this holds for every account at the origin. One modifier is sent first; its
    /// success releases the others.
    package mutating func credentialChanged(
        at name: OriginName,
        of scope: Scope?,
        now: Duration
    ) -> [Action] {
        var actions: [Action] = []
        if let scope {
            if let account = account(of: scope, at: name) { accept(account, &actions) }
        } else if let origin = originSlots[name] {
            for account in accountKeys.inUse where accountKeys[account].origin == origin {
                accept(account, &actions)
            }
        }
        return finish(actions, now)
    }

    /// Has an account try its credential, which is another one unless a person wants a retry.
    mutating func accept(_ account: Int32, isOther: Bool = true, _ actions: inout [Action]) {
        // Answers to attempts that are under way tell of the credential before.
        if isOther { accounts[Int(account)].credential &+= 1 }
        let refused = accounts[Int(account)].refused
        guard accounts[Int(account)].access != .open || !refused.isEmpty else { return }
        accounts[Int(account)].refused = []
        setAccess(account, .doubt(refusals: 0, probe: nil))
        for number in refused.sorted() {
            guard let slot = slots[number], nodes[Int(slot)].state == .waiting(.authWait)
            else { continue }
            change(slot, to: .queued, &actions)
        }
    }

    mutating func setAccess(_ account: Int32, _ access: Access) {
        accounts[Int(account)].access = access
        refreshParty(account)
    }

    /// A send step begins: in doubt, the account's other modifiers wait for its end.
    mutating func noteTrial(of account: Int32, _ number: ModifierNumber) {
        guard case .doubt(let refusals, nil) = accounts[Int(account)].access else { return }
        setAccess(account, .doubt(refusals: refusals, probe: number))
    }

    mutating func endProbe(of account: Int32, _ number: ModifierNumber) {
        guard case .doubt(let refusals, number) = accounts[Int(account)].access else { return }
        setAccess(account, .doubt(refusals: refusals, probe: nil))
    }

    /// An attempt has ended; true if the account's present credential was refused or is missing.
    mutating func noteAccess(
        _ slot: Int32,
        _ verdict: ModifierVerdict,
        isOutdated: Bool
    ) -> Bool {
        let node = nodes[Int(slot)]
        endProbe(of: node.account, node.number)
        guard !isOutdated, node.sentUnder == accounts[Int(node.account)].credential else {
            return false
        }
        switch (verdict, accounts[Int(node.account)].access) {
        case (.noCredential, _):
            // No answer: it says nothing of the credential that others are sent with.
            accounts[Int(node.account)].refused.insert(node.number)
            return true
        case (.authNeeded, let access):
            accounts[Int(node.account)].refused.insert(node.number)
            switch access {
            case .open: setAccess(node.account, .doubt(refusals: 1, probe: nil))
            case .doubt(let refusals, let probe):
                let count = min(refusals + 1, Limits.credentialRefusalsMax)
                setAccess(node.account, .doubt(refusals: count, probe: probe))
            }
            return true
        case (.confirmed, .doubt), (.accepted, .doubt):
            setAccess(node.account, .open)
        case (.refused, .doubt(_, let probe)), (.conflict, .doubt(_, let probe)):
            // Not an answer to the credential, nor a proof of it.
            setAccess(node.account, .doubt(refusals: 0, probe: probe))
        case (.confirmed, .open), (.accepted, .open), (.refused, .open),
            (.conflict, .open), (.notNow, _),
            (.serverFailed, _), (.unclear, _), (.captive, _), (.neverLeft, _):
            break
        }
        return false
    }

    /// Forgets a refusal with its modifier.
    ///
    /// After the last one no modifier is left to retry, so the next one shows whether the origin
    /// still refuses.
    mutating func forgetRefusal(of number: ModifierNumber, _ account: Int32) {
        guard accounts[Int(account)].refused.remove(number) != nil,
            accounts[Int(account)].refused.isEmpty,
            case .doubt(_, let probe) = accounts[Int(account)].access
        else { return }
        setAccess(account, .doubt(refusals: 0, probe: probe))
    }
}
