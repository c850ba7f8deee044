import LarderWire

/// Something that a simulation does to the daemon, and that changes what the model knows.
struct SimulationInput {
    enum Event {
        case accepted([PlainModifier])
        /// Cancelled or discarded; a dead letter is dropped.
        case removed(String, isDiscarded: Bool)
        /// It was said that it cannot be cancelled.
        case notCancelled(String)
        case retried(String)
        case laneSet(String, isPaused: Bool)
        case credentialSet
        case pinned(String)
        case unpinned(String)
        case answeredRead(String, PlainQueue.Base, PlainReading)
        /// Of the list, with its entities.
        case answeredList([PlainValue.Row], PlainReading)
        /// What the base was that the request had the tag of, it still is.
        case confirmedRead(String, PlainQueue.Base, PlainReading)
        /// It says nothing of what there is.
        case refusedRead(String, PlainReading)
        /// After a 412.
        case answeredCheck(String, PlainCheck)
        case attemptEnded(String, PlainVerdict)
        /// Another user's write of these was confirmed, or may have been.
        case othersConfirmed([PlainModifier.Change], isSure: Bool)
        /// The cache may have lost it, if nothing keeps it; the shared row or the user's own one.
        case mayBeLost(String, isShared: Bool)
        /// A client has evicted the list, the answer of an entity's own URL, or with `isByKey` an entity.
        case evicted(String, isByKey: Bool)
        /// The cache may have lost all that nothing keeps.
        case cacheLost
    }

    let number: Int
    /// Who did it; nil for all.
    let user: Int?
    /// When it happened.
    let moment: Duration
    let event: Event
    /// The client's call that it is; nil for what nobody answers.
    let call: ClientCall<Problem?>?

    /// What was known of it when the daemon ended.
    private var whenEnded: Certainty?

    init(
        number: Int,
        of user: Int? = nil,
        at moment: Duration,
        event: Event,
        call: ClientCall<Problem?>? = nil
    ) {
        self.number = number
        self.user = user
        self.moment = moment
        self.event = event
        self.call = call
    }

    /// The daemon ends here: what its calls are answered with from now on, nobody hears.
    mutating func end() {
        if whenEnded == nil { whenEnded = certainty }
    }

    /// Whether it may have come about although it was refused.
    private var isDoubtful = false

    /// The same where the disk failed: it may have come about, and nobody could say so.
    ///
    /// What is accepted is accepted or not (P-01).
    var doubtful: SimulationInput? {
        if case .accepted = event { return nil }
        var input = self
        input.isDoubtful = true
        return input
    }

    private var isRead: Bool {
        switch event {
        case .answeredRead, .answeredList, .confirmedRead, .refusedRead: true
        case _: false
        }
    }

    /// Whether it is done although it is not answered: who pins waits for the bytes, too.
    var isPin: Bool { if case .pinned = event { true } else { false } }

    /// Whether it has come about, as far as the one who asked can tell.
    enum Certainty {
        case done
        case refused(Problem)
        case open

        var isOpen: Bool {
            if case .open = self { true } else { false }
        }
    }

    var certainty: Certainty {
        if let whenEnded { return whenEnded }
        guard let call else { return .done }
        guard let answer = call.answer else { return .open }
        return answer.map { .refused($0) } ?? .done
    }

    /// Whether it has come about for good, also where the daemon ends right after it was answered.
    ///
    /// A retry is answered when it is begun: with a disk that fails it may not be written by then.
    func isKept(hasDiskFailed: Bool) -> Bool {
        guard call != nil, !certainty.isOpen else { return false }
        if case .retried = event { return !hasDiskFailed }
        return true
    }

    /// What may come of it, in a queue as it is; none where it must not happen.
    ///
    /// Beside others, what was read may be base no more before somebody looks whether it shows
    /// what was answered 202.
    ///
    /// `isKilled`: the process was killed soon after, perhaps between the commits of `state.db` and
    /// `cache.db`.
    func outcomes(
        in queue: PlainQueue,
        isAlone: Bool,
        hasDiskFailed: Bool,
        isKilled: Bool
    ) -> [PlainQueue] {
        var outcomes = outcomes(in: queue, isAlone: isAlone && !hasDiskFailed)
        if hasDiskFailed, case .pinned(let path) = event {
            var waiting = queue
            waiting.pin(path, isCacheRead: false)
            outcomes.append(waiting)
        }
        if isKilled { outcomes += storedInPart(in: queue) }
        if hasDiskFailed { outcomes += overtakenInPart(in: queue) }
        if isDoubtful { return outcomes + [queue] }
        if case .answeredRead(let path, _, let reading) = event {
            if queue.rows.isShared, reading.user != nil, !isAlone || hasDiskFailed {
                // Its row was not stored, and hides the shared one all the same.
                var hidden = queue
                if !hidden.rows.hasOwn(path) { hidden.set(path, .unknown) }
                outcomes.append(hidden)
            }
        }
        return hasDiskFailed && isRead ? outcomes + [queue] : outcomes
    }

    /// The queue where a 2xx has come and the end came before the write was settled; nil for all else.
    func fenced(in queue: PlainQueue) -> PlainQueue? {
        guard case .attemptEnded(let id, .confirmed(let told)) = event, let modifier = queue[id]
        else { return nil }
        var fenced = queue
        for member in [modifier] + queue.members(of: id) { fenced.touch(member, told, number) }
        return fenced
    }

    /// What may be seen before all of it has come about, and by who asks the network for what a pin
    /// keeps, which says that it is deleted.
    func passing(from queue: PlainQueue) -> [PlainQueue] {
        if case .answeredList(let rows, let reading) = event {
            return queue.listed(rows, reading) + queue.told(rows, reading)
        }
        guard case .answeredRead(let path, let base, let reading) = event else { return [] }
        let mixed = queue.touched(path, reading).filter { !$0.isEmpty }
            .flatMap { queue.mixed(path, base, reading, $0, number) }
        return mixed
            + queue.rows.places(path, reading, number).flatMap { place in
                var unseen = queue
                unseen.say(path, base, at: place, isLookedAt: false)
                guard base == .deleted, queue.pinned.contains(path) else { return [unseen] }
                var told = queue
                told.unpin(path)
                told.say(path, base, at: place, isLookedAt: false)
                return [unseen, told]
            }
    }

    private func outcomes(in queue: PlainQueue, isAlone: Bool) -> [PlainQueue] {
        var after = queue
        switch event {
        case .accepted(let modifiers):
            var unread = queue.unread(modifiers.flatMap(\.changes).map(\.path), number)
            for modifier in modifiers {
                after.accept(modifier)
                unread.accept(modifier)
            }
            if queue.rows.isShared, !isAlone, unread != after { return [after, unread] }
            if var forgetful = queue.withoutBrokenList(targetedBy: modifiers) {
                for modifier in modifiers { forgetful.accept(modifier) }
                return isAlone ? [forgetful] : [after, forgetful]
            }
        case .removed(let id, let isDiscarded):
            let isDone = after.drop(id) || (isDiscarded ? after.discard(id) : after.cancel(id))
            guard isDone else { return [] }
        case .notCancelled(let id): return queue.mayCancel(id) ? [] : [queue]
        case .retried(let id):
            guard after.retry(id) else { return [] }
            let retried = queue[id].map { [$0] } ?? []
            if var forgetful = queue.withoutBrokenList(targetedBy: retried), forgetful.retry(id) {
                return isAlone ? [forgetful] : [after, forgetful]
            }
        case .laneSet(let lane, let isPaused): after.pause(lane, isPaused)
        case .credentialSet: after.renewCredential()
        case .pinned(let path):
            after.pin(path)
            let mayHide = queue.base(path) == .unknown && queue.rows.mayHide(path)
            guard mayHide || queue.rows.isShared && !isAlone else { break }
            var waiting = after
            waiting.rows.waiting.insert(path)
            return [after, waiting]
        case .unpinned(let path): after.unpin(path)
        case .attemptEnded(let id, let verdict):
            guard after.attemptEnded(id, verdict, input: number, at: moment) else { return [] }
        case .answeredList(let rows, let reading):
            return outcomes(of: rows, reading, in: queue, isAlone: isAlone)
        case .answeredRead, .refusedRead, .confirmedRead:
            return outcomesOfRead(in: queue, isAlone: isAlone)
        case .answeredCheck(let path, let answer):
            guard after.checkEnded(path, answer, input: number, at: moment) else { return [] }
        case .othersConfirmed(let changes, let isSure):
            for change in changes {
                after.rows.confirmations[change.path, default: PlainTouches()]
                    .note(change.effect.touched, at: number)
            }
            return isSure ? [after] : [after, queue]
        case .mayBeLost(let path, let isShared):
            let answerless = queue.answerless(path)
            let found = queue.evicted(path, isShared: isShared, number) + [queue]
            return found + (answerless == queue ? [] : [answerless])
        case .evicted(let path, let isByKey):
            // The store sweeps entities right after it.
            return queue.evicted(path, isByKey: isByKey).flatMap(\.sweeps)
        case .cacheLost: return queue.losses(number)
        }
        return [after]
    }

    /// What `state.db` has of a read where `cache.db` does not: an entity without the answer of its own URL.
    private func storedInPart(in queue: PlainQueue) -> [PlainQueue] {
        if case .answeredList(let rows, let reading) = event {
            return queue.listedInPart(rows, reading)
        }
        guard queue.hasEntities, case .answeredRead(let path, let base, let reading) = event
        else { return [] }
        return queue.touched(path, reading).flatMap { touched in
            guard touched.isEmpty else {
                return looked(
                    queue.mixed(path, base, reading, touched, number, isNew: false),
                    at: path
                )
            }
            return [true, false].map { isLookedAt in
                var after = queue
                after.say(path, base, isLookedAt: isLookedAt, isNew: false)
                return after
            }
        }
    }

    /// Without `cache.db` the rest of an overtaken list changes durable entities alone.
    ///
    /// "Everything that the network says about a durable row is written to `state.db` alone", and "if
    /// `cache.db` cannot be written, evictable answers are passed on unstored".
    private func overtakenInPart(in queue: PlainQueue) -> [PlainQueue] {
        guard case .answeredList(let rows, let reading) = event else { return [] }
        let paths = rows.map { PlainQueue.path(of: $0.id) } + [PlainQueue.list]
        guard paths.contains(where: { queue.isOvertaken($0, reading) != false }) else { return [] }
        return paths.reduce(queue.listedInPart(rows, reading)) { looked($0, at: $1) }
    }

    /// Each of them, and as it is once somebody has looked whether a target shows what was answered
    /// 202.
    private func looked(_ queues: [PlainQueue], at path: String) -> [PlainQueue] {
        queues.flatMap { queue in
            var looked = queue
            looked.look(path)
            return looked == queue ? [queue] : [queue, looked]
        }
    }

    /// Possible queues after an answer with the list, which changes the list and its entities.
    private func outcomes(
        of rows: [PlainValue.Row],
        _ reading: PlainReading,
        in queue: PlainQueue,
        isAlone: Bool
    ) -> [PlainQueue] {
        let paths = rows.map { PlainQueue.path(of: $0.id) } + [PlainQueue.list]
        let listed = queue.listed(rows, reading)
        let isSure = isAlone && paths.allSatisfy { queue.isOvertaken($0, reading) == false }
        guard isSure else { return paths.reduce(listed) { looked($0, at: $1) } }
        return listed.map { queue in
            var looked = queue
            for path in paths { looked.look(path) }
            return looked
        }
    }

    /// What an answer makes of a row that has the answer of a read that set out later: that one stays.
    private func late(in queue: PlainQueue, at path: String) -> [PlainQueue] {
        var after = queue
        after.endAnswered(path)
        return looked(after == queue ? [queue] : [queue, after], at: path)
    }

    /// What a read may have made of what is known.
    private func outcomesOfRead(in queue: PlainQueue, isAlone: Bool) -> [PlainQueue] {
        var after = queue
        switch event {
        case .answeredRead(let path, let base, let reading):
            var queues: [PlainQueue] = []
            if let later = reading.later {
                queues = late(in: queue, at: path)
                let later = PlainReading(since: later, user: reading.user)
                guard !isAlone || queue.isOvertaken(path, later) != false else { return queues }
                // The later answer was perhaps not stored.
            }
            let all = queue.touched(path, reading)
            return queues
                + all.flatMap { touched in
                    guard touched.isEmpty else {
                        return looked(queue.mixed(path, base, reading, touched, number), at: path)
                    }
                    return queue.rows.places(path, reading, number).flatMap { place in
                        (all.count > 1 || !isAlone ? [true, false] : [true]).map { isLookedAt in
                            var after = queue
                            after.say(path, base, at: place, isLookedAt: isLookedAt)
                            return after
                        }
                    }
                }
        case .refusedRead(let path, let reading):
            guard queue.isOvertaken(path, reading) != true, queue.rows.sees(path, reading) else {
                return [queue]
            }
            after.endAnswered(path)
            return queue.isOvertaken(path, reading) == false ? [after] : [after, queue]
        case .confirmedRead(let path, let base, let reading):
            guard queue.rows.sees(path, reading) else { return [queue] }
            guard queue.base(path) == base else {
                // The shared row has it, and is hidden.
                after.endAnswered(path)
                let isHidden = queue.rows.isShared && queue.isOvertaken(path, reading) != true
                return isHidden ? [queue, after] : [queue]
            }
            // An entity's own URL has the answer that it had, if it is still there.
            after.say(path, base, isLookedAt: true, isNew: !queue.hasEntities)
            if queue.rows.isShared, queue.isOvertaken(path, reading) == true { return [queue] }
            let isSure = isAlone && queue.isOvertaken(path, reading) == false
            var unsaved = queue
            unsaved.say(path, base, isLookedAt: true, isNew: false)
            return (isSure ? [after] : [after, queue]) + (unsaved == after ? [] : [unsaved])
        default: return [queue]
        }
    }
}
