/// How modifiers leave the queue.
extension PlainQueue {
    /// The queues that this may be once all has ended that ends by itself: what has expired, and
    /// what was accepted long enough ago, in any order, as all of it is noticed at once.
    func ended(at now: Duration) -> [PlainQueue] {
        var found: [PlainQueue] = []
        var open = [self]
        var known: Set<PlainQueue> = [self]
        while let queue = open.popLast() {
            let due = queue.modifiers.filter { modifier in
                let isAccepted = modifier.state(at: now) == "accepted"
                return modifier.end.map { $0 <= now } ?? false
                    && holds(isAccepted ? .acceptedIsLimited : .expiredIsNotSent)
            }
            if due.isEmpty { found.append(queue) }
            for modifier in due {
                var next = queue
                next.end(modifier)
                if known.insert(next).inserted { open.append(next) }
            }
        }
        return found
    }

    /// As `ended`, and where writes have met another device's edit, or groups have left that need no
    /// request.
    func settled(at now: Duration) -> [PlainQueue] {
        var found = ended(at: now)
        var next = 0
        while next < found.count {
            let queue = found[next]
            next += 1
            for after in queue.withConflict(at: now) + queue.withoutNeedless(at: now)
            where !found.contains(after) {
                found.append(after)
            }
        }
        return found
    }

    private mutating func end(_ modifier: PlainModifier) {
        if case .accepted = modifier.standing {
            confirm(modifier, nil)
        } else {
            die(modifier.id, "expired")
        }
    }

    /// The daemon is no more: nobody knows how the attempts under way have ended (case 22).
    mutating func stop() {
        doubt = unsettled.contains { $0.standing == .authWait } ? Doubt() : nil
        for modifier in modifiers {
            // A refused credential may be another one at the next start.
            if modifier.standing == .unsent || modifier.standing == .authWait {
                change(modifier.id) { $0.standing = .waiting }
            }
            guard modifier.isUnderWay, holds(.stoppedIsUnknown) else { continue }
            change(modifier.id) {
                $0.isPerhapsApplied = true
                $0.standing = .unknown
                $0.mayBeApplied = true
            }
            if modifier.isSpent, modifier.resends { die(modifier.id, "attempts") }
        }
    }

    mutating func refuse(_ id: String) {
        doubt?.refusals = 0
        die(id, "refused")
    }

    /// The last that waits for a credential leaves: the next one shows whether it is still refused.
    private mutating func forgetRefusal(of id: String) {
        guard self[id]?.standing == .authWait,
            !unsettled.contains(where: { $0.id != id && $0.standing == .authWait })
        else { return }
        doubt?.refusals = 0
    }

    mutating func die(_ id: String, _ reason: String) {
        let members = endsTogether ? members(of: id).map(\.id) : []
        for id in [id] + members {
            forgetRefusal(of: id)
            change(id) {
                if ["attempts", "discarded"].contains(reason) { $0.isPerhapsApplied = true }
                $0.standing = .failed(reason)
            }
            restoreSnapshot(of: self[id])
        }
        guard holds(.dependantsFail) else { return }
        for parent in [id] + members {
            for child in unsettled where child.dependsOn.contains(parent) {
                die(child.id, "parent_failed")
            }
        }
    }

    mutating func leave(_ id: String) {
        forgetRefusal(of: id)
        restoreSnapshot(of: self[id])
        remove(id, "cancelled")
        guard holds(.dependantsAreCancelled) else { return }
        for child in unsettled where child.dependsOn.contains(id) { leave(child.id) }
    }

    // MARK: Without a rule

    /// The modifier with what its targets show before it.
    func withSnapshot(_ modifier: PlainModifier) -> PlainModifier {
        var modifier = modifier
        for change in modifier.changes {
            modifier.snapshot[change.path] =
                switch shown(change.path).view {
                case .unknown: .unknown
                case .deleted: .deleted
                case .value(let value, isComplete: true): .value(value)
                case .value(let value, isComplete: false): .part(value)
                }
        }
        return modifier
    }

    private mutating func restoreSnapshot(of modifier: PlainModifier?) {
        for (path, base) in modifier?.snapshot ?? [:] { set(path, base) }
    }
}
