package import LarderModel

/// Modifiers that one request makes.
///
/// The first has the request of all in its row, besides its own; the others have its id. Each row
/// keeps its own changes.
struct Joining: WriterPart {
    let writer: StoreWriter

    /// Makes a request that of a modifier and of others.
    func join(
        _ others: [WholeModifier],
        to first: QueuedRow,
        _ request: JoinedRequest
    ) throws(StoreError) {
        try state.connection.statement(
            """
            UPDATE modifier SET joined_method = :method, joined_media_type = :type,
                joined_body = :body, size = size + length(:body)
            WHERE number = :number
            """
        ).run(
            (":method", request.method),
            (":type", request.mediaType),
            (":body", request.body),
            (":number", first.number.value)
        )
        try state.modifiers.count(bytes: Int64(request.body.count), of: first)
        for other in others {
            try state.connection.statement(
                "UPDATE modifier SET joined_into = :id WHERE number = :number"
            ).run((":id", first.id), (":number", other.modifier.number.value))
        }
    }

    /// The modifiers that are joined to a first one and wait for its end.
    func members(of first: QueuedRow) throws(StoreError) -> [WholeModifier] {
        var found: [WholeModifier] = []
        for number in try numbers(of: first) {
            if let whole = try state.reader.queue.modifier(number) { found.append(whole) }
        }
        return found
    }

    private func numbers(of first: QueuedRow) throws(StoreError) -> [ModifierNumber] {
        guard first.joinedBytes != nil else { return [] }
        return try state.connection.statement(
            "SELECT number FROM modifier WHERE \(Self.waiting) ORDER BY number",
            (":scope", first.scope),
            (":id", first.id)
        ).all { ModifierNumber($0.integer(.only)) }
    }

    /// Takes the group of a modifier apart, unless all of it is among those that leave the queue.
    ///
    /// After an attempt the first of them is sent under the next key, as its request is another one
    /// then, unless it leaves, too. An edit of it has `edits`, and sees to the key itself.
    func part(
        groupOf number: ModifierNumber,
        leaving: [ModifierNumber] = [],
        edits: Bool = false
    ) throws(StoreError) {
        guard let first = try first(of: number) else { return }
        let group = try [first.number] + numbers(of: first)
        guard !group.allSatisfy(leaving.contains) else { return }
        try part(first)
        guard !leaving.contains(first.number), !edits || first.number != number else { return }
        try state.connection.execute(
            """
            UPDATE modifier SET round = round + (attempts > 0 OR answer_status IS NOT NULL),
                etag = NULL, denied = attempts - not_applied
            WHERE number = \(first.number)
            """
        )
    }

    /// Has each modifier of a group be sent alone.
    func part(_ first: QueuedRow) throws(StoreError) {
        guard let bytes = first.joinedBytes else { return }
        for number in try numbers(of: first) {
            try state.queue[.forgetSent].run((":number", number.value))
        }
        // The requests of the first made the changes of the others, too (case 18).
        try state.connection.statement(
            """
            UPDATE modifier SET joined_into = NULL, perhaps_applied = perhaps_applied OR
                (SELECT perhaps_applied FROM modifier WHERE number = :first)
            WHERE \(Self.waiting)
            """
        ).run((":scope", first.scope), (":id", first.id), (":first", first.number.value))
        try state.connection.execute(
            """
            UPDATE modifier SET joined_method = NULL, joined_media_type = NULL, joined_body = NULL,
                size = size - \(bytes)
            WHERE number = \(first.number)
            """
        )
        try state.modifiers.count(bytes: -bytes, of: first)
    }

    /// Writes the new state of a modifier; those that are joined to it are accepted with it.
    func update(_ change: ModifierUpdate) throws(StoreError) -> ModifierTransition? {
        if let first = try state.modifiers.row(change.number), !first.isSettled {
            let members = try change.state == .accepted ? numbers(of: first) : []
            for member in members {
                var own = change
                own.number = member
                _ = try state.modifiers.update(own, try revisions.next())
            }
            let hasLeft = change.attempts > 0 || first.hasAnswer || change.answer != nil
            if !hasLeft || change.round != .same || change.state == .conflict {
                try part(first)
            } else if change.attempts == 0 {
                // The next send step of the first is theirs, too.
                for member in try numbers(of: first) {
                    try state.queue[.forgetSent].run((":number", member.value))
                }
            }
        }
        return try state.modifiers.update(change, try revisions.next())
    }

    private func first(of number: ModifierNumber) throws(StoreError) -> QueuedRow? {
        guard let row = try state.modifiers.row(number), !row.isSettled else { return nil }
        if row.joinedBytes != nil { return row.state == .accepted ? nil : row }
        guard row.state == .queued, let id = row.joinedInto else { return nil }
        let first = try state.connection.statement(
            """
            SELECT number FROM modifier
            WHERE scope = :scope AND id = :id AND settled_at IS NULL AND joined_method IS NOT NULL
            """,
            (":scope", row.scope),
            (":id", id)
        ).first { ModifierNumber($0.integer(.only)) }
        return try first.flatMap { number throws(StoreError) in try state.modifiers.row(number) }
    }

    private static let waiting = """
        scope = :scope AND joined_into = :id AND joined_into IS NOT NULL AND state = 'queued'
        """
}

/// The request of several modifiers; it goes to the URL of the first, with its headers.
package struct JoinedRequest: Equatable, Sendable {
    package let method: String
    package let mediaType: String?
    package let body: [UInt8]

    package init(method: String, mediaType: String?, body: [UInt8]) {
        (self.method, self.mediaType, self.body) = (method, mediaType, body)
    }
}

package struct JoinedModifiers: Equatable, Sendable {
    package let others: [WholeModifier]
    /// Nil: they need no request, as together they change nothing.
    package let request: JoinedRequest?

    package init(_ others: [WholeModifier], _ request: JoinedRequest?) {
        (self.others, self.request) = (others, request)
    }

    package typealias Decision =
        @Sendable (JoinableModifiers) throws(StoreError) -> JoinedModifiers?
}

/// Modifiers that may be joined to one, as the send step reads them.
package struct JoinableModifiers {
    let departing: Departing
    package let first: WholeModifier

    /// A modifier that has not been sent; nil for any other.
    package func modifier(_ number: ModifierNumber) throws(StoreError) -> WholeModifier? {
        let whole = try departing.state.reader.queue.modifier(number)
        guard let whole, whole.modifier.state == .queued, !whole.modifier.mayHaveLeft,
            whole.modifier.bodyByteCount <= Limits.joinedBodyBytesMax
        else { return nil }
        return whole
    }

    package func dependencies(of number: ModifierNumber) throws(StoreError) -> [ModifierNumber] {
        try departing.state.reader.queue.modifier(number)?.modifier.dependsOn ?? []
    }

    package func base(of id: EntryID) throws(StoreError) -> TargetBase {
        let scope = departing.shared.key(for: first.modifier.scope)
        return try departing.sentBase(of: id, scope)
    }
}
