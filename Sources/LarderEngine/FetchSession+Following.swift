import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

extension FetchSession {
    /// Whether the last word was told, and the session does not follow changes yet.
    var isToFollow: Bool {
        guard case .following = machine.state else { return false }
        return following == nil
    }

    /// Begins to listen for changes of the id that was shown, and looks once what has changed since
    /// it was read.
    mutating func beginFollowing(_ reader: StoreReader) async {
        guard let id = shown?.id else { return }
        // From here on each look reads the row again: a follower keeps no body.
        cached = nil
        following = Following(id, lookupScopes, context) { [mailbox = mailbox] in
            mailbox.post(.rowChanged)
        }
        let name = request.origin.name
        let hasUpdates = Flag()
        hasOriginNews = hasUpdates
        originSeat = context.watchers.originListeners.add { [mailbox = mailbox] in
            if hasUpdates.raise() { mailbox.post(.originChanged) }
        }
        toldOrigin = context.watchers.state(of: name)
        if request.policy != .cacheOnly {
            waiting = context.originStates.waitForReturn(of: name, as: scope.scope) {
                [mailbox = mailbox] in
                mailbox.post(.originReturned)
            }
        }
        await readFollowed(reader)
    }

    mutating func readFollowed(_ reader: StoreReader) async {
        guard let following else { return }
        following.rowIsRead()
        let published = context.store.changes.published
        var before: Machine?
        do throws(StoreError) {
            let row = try await Entries(context: context).answer(
                lookupScopes,
                following.id,
                on: reader,
                isPartial: request.isPartial
            )
            following.rowWasRead(bytes: Int64(row?.entry.body.byteCount ?? 0), in: row?.place)
            // A settled variant is requested again, as its target is: only its follower knows the
            // headers.
            let wereSettled = hasPendingWrites
            hasPendingWrites = row?.overlay.pending.isEmpty == false
            if wereSettled, !hasPendingWrites, request.policy != .cacheOnly,
                Variants.url(of: following.id) != nil
            {
                await askAgain(reader)
            }
            before = machine
            switch machine.rowWasRead(view(of: row)) {
            case .nothing: break
            case .show:
                // The row was replaced during the read, so another notice follows.
                guard let row, let body = try await open(row) else { return }
                await show(row, body, .cache())
                known = row.entry.revision
            case .tellDeleted:
                guard let row else { return }
                // The same deletion was told before, under an earlier revision.
                let deletion = row.deletion
                let told = (toldDeletion?.status, toldDeletion?.source)
                guard told != (deletion.status, deletion.source) else { break }
                await tellDeleted(deletion, .cache())
            }
            toldThrough = published
        } catch {
            // The next heartbeat reads the row again, as nothing of it was shown.
            if let before { machine = before }
            context.noteUnread(error)
        }
    }

    mutating func tellOrigin(_ reader: StoreReader) async {
        hasOriginNews?.lower()
        let state = context.watchers.state(of: request.origin.name)
        guard state != toldOrigin else { return }
        toldOrigin = state
        await readFollowed(reader)
        await say(.origin(toldThrough, state: state))
    }

    /// Asks the origin for news since it was down, after its rest.
    ///
    /// The session hears of a new answer by the change of the row.
    func askAgain(_ reader: StoreReader) async {
        guard following != nil else { return }
        if let retryAfterEnd = context.originStates.retryAfterEnd(of: request.origin.name, for: scope.scope) {
            return timers.set(until: retryAfterEnd, .originReturned)
        }
        let known: ShownAnswer?
        do throws(StoreError) {
            known = try await lookUp(reader)
        } catch {
            known = nil
            context.noteUnread(error)
        }
        context.flightStarter.joinOrStart(request, scope, cached: known) { _ in }
    }

    private func view(of row: ShownAnswer?) -> Machine.FollowedRow {
        guard let entry = row?.entry else { return .missing }
        switch entry.kind {
        case .fetched:
            let isAsTold = entry.body == shown?.body && row?.overlay == shownOverlay
            return .entry(entry.revision, isAsTold: isAsTold)
        case .tombstone: return .tombstone(entry.revision)
        // A kind that no fetch stores: only another configuration can have left it there.
        case .blob, .variants, .entity: return .missing
        }
    }
}
