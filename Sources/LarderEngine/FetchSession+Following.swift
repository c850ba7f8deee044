import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// What is told behind the last word to one that follows: each new view of the row.
extension FetchSession {
    /// Whether the last word was told, and nobody listens for changes yet.
    var isToFollow: Bool {
        guard case .following = machine.state else { return false }
        return following == nil
    }

    /// Begins to listen for changes of the id that was shown, and looks once what has changed since
    /// it was read.
    mutating func beginFollowing(_ reader: StoreReader) async {
        guard let id = shown?.id else { return }
        // From here on the row is read anew: a follower keeps no body.
        cached = nil
        cachedBody = nil
        following = Following(id, sight, context.store, followers) { [mailbox] in
            mailbox.post(.rowChanged)
        }
        originNews = OriginNews(of: request.origin.name, context.watchers) { [mailbox] in
            mailbox.post(.originChanged)
        }
        if request.policy != .cacheOnly {
            let name = request.origin.name
            waiting = context.waitForReturn(of: name, as: scope.scope) { [mailbox] in
                mailbox.post(.originReturned)
            }
        }
        await readFollowed(reader)
    }

    /// Reads the followed row, and tells what is new in it.
    mutating func readFollowed(_ reader: StoreReader) async {
        guard let following else { return }
        following.rowIsRead()
        let released = context.store.changes.released
        let row: CachedAnswer?
        do throws(StoreError) {
            row = try await context.answer(
                sight,
                following.id,
                on: reader,
                now: context.clock.now(),
                isPartial: request.isPartial
            )
        } catch {
            // Its next change is read again.
            return context.noteUnread(error)
        }
        following.rowWasRead(bytes: Int64(row?.entry.body.byteCount ?? 0), in: row?.place)
        await noteWrites(pending: row?.overlay.pending.isEmpty == false, reader)
        switch machine.rowWasRead(view(of: row)) {
        case .nothing: break
        case .show:
            guard let row, await showFollowed(row) else { return }
        case .tellDeleted:
            guard let row else { return }
            // That it is gone, by the same word, was told under an earlier number.
            guard toldDeletion.map({ $0 != (row.entry.status, row.source) }) ?? true else { break }
            await tellDeleted(row.entry.revision, status: row.entry.status, row.source)
        }
        toldThrough = released
    }

    /// Tells that the origin goes or returns, behind what was known before.
    mutating func tellOrigin(_ reader: StoreReader) async {
        guard let state = originNews?.take() else { return }
        await readFollowed(reader)
        await send(.origin(toldThrough, request.origin.name, state: state))
    }

    /// Has the origin say what is new since it was down, once it is not to be left alone; what
    /// comes of it is heard of by the row.
    func askAgain(_ reader: StoreReader) async {
        guard following != nil else { return }
        if let rest = context.rest(of: request.origin.name, for: scope.scope) {
            return setTimer(rest, .originReturned)
        }
        let known: CachedAnswer?
        do throws(StoreError) {
            known = try await request.lookUp(on: reader, sight, in: context)
        } catch {
            known = nil
            context.noteUnread(error)
        }
        flights.board(request, scope, cached: known) { _ in }
    }

    /// A variant whose URL nothing more is written to is asked for again, as its target is: only who
    /// follows it knows by which headers.
    private mutating func noteWrites(pending arePending: Bool, _ reader: StoreReader) async {
        let wereSettled = hasPendingWrites && !arePending
        hasPendingWrites = arePending
        guard wereSettled, request.policy != .cacheOnly, let id = following?.id,
            Variants.url(of: id) != nil
        else { return }
        await askAgain(reader)
    }

    private func view(of row: CachedAnswer?) -> FetchMachine<Problem>.FollowedRow {
        guard let entry = row?.entry else { return .missing }
        switch entry.kind {
        case .fetched:
            return .entry(entry.revision, isAsTold: entry.body == shown?.body)
        case .tombstone: return .tombstone(entry.revision)
        // Not what was asked for: only another configuration can have left it there.
        case .blob, .variants, .entity: return .missing
        }
    }

    /// False where its body could not be read.
    private mutating func showFollowed(_ row: CachedAnswer) async -> Bool {
        let body: FrameBody?
        do throws(StoreError) {
            body = try await row.frameBody(context.store, scope, now: context.clock.now())
        } catch {
            context.noteUnread(error)
            return false
        }
        // Replaced while it was read: then there is another notice on its way.
        guard let body else { return false }
        await show(row.source, row.entry, body, row.overlay)
        known = row.entry.revision
        return true
    }
}
