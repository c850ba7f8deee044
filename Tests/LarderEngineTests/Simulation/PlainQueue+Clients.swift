/// Decisions of clients about their writes.
extension PlainQueue {
    /// Whether it cannot have been applied (case 18).
    func mayCancel(_ id: String) -> Bool {
        guard let modifier = self[id], !modifier.isDead else { return false }
        // The others of a group are answered with its first.
        let mayBeDone = modifier.isPerhapsApplied || modifier.standing == .answered
        let isPerhapsApplied = mayBeDone && holds(.appliedIsNotCancelled)
        if let first = first(of: id), first.isUnderWay || first.isPerhapsApplied { return false }
        return !modifier.isUnderWay && !isPerhapsApplied
    }

    /// False where it must not be done.
    mutating func cancel(_ id: String) -> Bool {
        guard mayCancel(id) else { return false }
        partCancelled(id)
        leave(id)
        return true
    }

    mutating func discard(_ id: String) -> Bool {
        guard let own = self[id], !own.isDead else { return false }
        let modifier = first(of: id) ?? own
        guard !modifier.isUnderWay else { return false }
        if modifier.standing == .answered {
            settle(id)
        } else if modifier.isPerhapsApplied {
            die(modifier.id, "discarded")
        } else {
            partCancelled(id)
            leave(id)
        }
        return true
    }

    mutating func drop(_ id: String) -> Bool {
        guard self[id]?.isDead == true else { return false }
        remove(id, "failed")
        return true
    }

    mutating func retry(_ name: String) -> Bool {
        let id = first(of: name)?.id ?? name
        guard var modifier = self[id] else { return false }
        switch modifier.standing {
        case .failed:
            modifiers.removeAll { $0.id == id }
            if holds(.retryStartsRound) { modifier.round += 1 }
            (modifier.attempts, modifier.sentOn) = (0, [:])
            modifier.notApplied = 0
            modifier.needsPerson = false
            modifier.standing = .waiting
            modifier.mayHaveLeft = false
            modifier.mayBeApplied = false
            modifier.joinedInto = nil
            (modifier.holdUntil, modifier.expiresAt) = (nil, nil)
            // The user who retries it has decided about its failed parents.
            modifier.dependsOn.removeAll { parent in self[parent].map(\.isDead) ?? true }
            accept(modifier)
        case .unsent, .retryWait, .unknown:
            change(id) {
                $0.standing = .waiting
                $0.needsPerson = false
            }
        case .authWait:
            for other in modifiers where other.standing == .authWait {
                change(other.id) { $0.standing = .waiting }
            }
            doubt = Doubt()
        case .conflict(let theirs): overrule(id, theirs: theirs)
        case .waiting, .inFlight, .checking, .accepted, .answered: return false
        }
        return true
    }
}
