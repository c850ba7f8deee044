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
            if let party = party(of: scope, at: name) { accept(party, &actions) }
        } else if let origin = originSlots[name] {
            for party in partyKeys.inUse where partyKeys[party].origin == origin {
                accept(party, &actions)
            }
        }
        return finish(actions, now)
    }

    /// Has a party try its credential, which is another one unless a person wants a retry.
    mutating func accept(_ party: Int32, isOther: Bool = true, _ actions: inout [Action]) {
        // Answers to attempts that are under way tell of the credential before.
        if isOther { parties[Int(party)].credential &+= 1 }
        let refused = parties[Int(party)].refused
        guard parties[Int(party)].access != .open || !refused.isEmpty else { return }
        parties[Int(party)].refused = []
        setAccess(party, .doubt(refusals: 0, trial: nil))
        for number in refused.sorted() {
            guard let slot = slots[number], nodes[Int(slot)].state == .waiting(.authWait)
            else { continue }
            change(slot, to: .queued, &actions)
        }
    }

    mutating func setAccess(_ party: Int32, _ access: Access) {
        parties[Int(party)].access = access
        refreshParty(party)
    }

    /// A send step begins: in doubt, the party's other modifiers wait for its end.
    mutating func noteTrial(of party: Int32, _ number: ModifierNumber) {
        guard case .doubt(let refusals, nil) = parties[Int(party)].access else { return }
        setAccess(party, .doubt(refusals: refusals, trial: number))
    }

    mutating func endTrial(of party: Int32, _ number: ModifierNumber) {
        guard case .doubt(let refusals, number) = parties[Int(party)].access else { return }
        setAccess(party, .doubt(refusals: refusals, trial: nil))
    }

    /// An attempt has ended; true if the party's present credential was refused or is missing.
    mutating func noteAccess(
        _ slot: Int32,
        _ verdict: ModifierVerdict,
        isOutdated: Bool
    ) -> Bool {
        let node = nodes[Int(slot)]
        endTrial(of: node.party, node.number)
        guard !isOutdated, node.sentUnder == parties[Int(node.party)].credential else {
            return false
        }
        switch (verdict, parties[Int(node.party)].access) {
        case (.noCredential, _):
            // No answer: it says nothing of the credential that others are sent with.
            parties[Int(node.party)].refused.insert(node.number)
            return true
        case (.authNeeded, let access):
            parties[Int(node.party)].refused.insert(node.number)
            switch access {
            case .open: setAccess(node.party, .doubt(refusals: 1, trial: nil))
            case .doubt(let refusals, let trial):
                let count = min(refusals + 1, Limits.credentialRefusalsMax)
                setAccess(node.party, .doubt(refusals: count, trial: trial))
            }
            return true
        case (.confirmed, .doubt), (.accepted, .doubt):
            setAccess(node.party, .open)
        case (.refused, .doubt(_, let trial)), (.conflict, .doubt(_, let trial)):
            // Not an answer to the credential, nor a proof of it.
            setAccess(node.party, .doubt(refusals: 0, trial: trial))
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
    mutating func forgetRefusal(of number: ModifierNumber, _ party: Int32) {
        guard parties[Int(party)].refused.remove(number) != nil,
            parties[Int(party)].refused.isEmpty,
            case .doubt(_, let trial) = parties[Int(party)].access
        else { return }
        setAccess(party, .doubt(refusals: 0, trial: trial))
    }
}
