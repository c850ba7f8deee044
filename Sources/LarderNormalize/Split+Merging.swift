import LarderJSON
import LarderModel

extension Split {
    /// Merges an entity of the answer into its stored state.
    ///
    /// A member of the answer replaces the stored one, also with `null`. A member that the answer
    /// does not have stays. A member with an equal value keeps its bytes, so that templates which
    /// show it stay valid.
    ///
    /// A late answer only adds members that are not known. A late answer does not restore a deleted
    /// entity.
    ///
    /// - Parameters:
    ///   - number: The entity's index in ``keys``.
    ///   - held: The entity's state in the store.
    ///   - fetch: The number that the fetch took when it started.
    ///   - kept: Members that stay as they are, because a write has touched them since.
    /// - Returns: The new state, and the changes.
    package func merged(
        _ number: Int,
        into held: HeldEntity,
        fetch: Int64,
        keeping kept: TouchedMembers = .none
    ) -> MergedEntity {
        let key = keys[number]
        let before: EntityStamp?
        let base: EntityBody?
        switch held {
        case .unknown: (before, base) = (nil, nil)
        case .present(let body, let stamp): (before, base) = (stamp, body)
        case .deleted(let stamp): (before, base) = (stamp, nil)
        }
        if kept == .all || base == nil && isLate(number, after: before, fetch: fetch) {
            return MergedEntity(
                key: key,
                held: held,
                change: .nothing,
                isWritten: false,
                isContradicted: false,
                before: before,
                fetch: fetch,
                kept: kept
            )
        }
        return body.withUnsafeBytes { bytes in
            var merging = EntityMerging(self, bytes, base: base)
            // A new entity does not keep the tombstone's stamp.
            var stamp = base == nil ? nil : before
            var occurrence = firstOccurrences[number]
            while occurrence >= 0 {
                let version = version(of: occurrence, bytes)
                let isLate = stamp?.isAhead(of: version, fetch: fetch) ?? false
                merging.apply(occurrence, isLate: isLate, keeping: kept)
                if !isLate {
                    stamp = EntityStamp(
                        version: version ?? stamp?.version,
                        fetch: max(fetch, stamp?.fetch ?? fetch)
                    )
                }
                occurrence = occurrences[occurrence].sibling
            }
            let after = stamp ?? EntityStamp(version: nil, fetch: fetch)
            let (body, change) = merging.finished()
            return MergedEntity(
                key: key,
                held: .present(body ?? base ?? .empty, after),
                change: change,
                isWritten: body != nil || after != before,
                isContradicted: merging.isContradicted,
                before: before,
                fetch: fetch,
                kept: kept
            )
        }
    }

    /// Whether no occurrence of the entity is new enough to replace the state with this stamp.
    private func isLate(_ number: Int, after stamp: EntityStamp?, fetch: Int64) -> Bool {
        guard let stamp else { return false }
        return body.withUnsafeBytes { bytes in
            var occurrence = firstOccurrences[number]
            while occurrence >= 0 {
                let version = version(of: occurrence, bytes)
                guard stamp.isAhead(of: version, fetch: fetch) else { return false }
                occurrence = occurrences[occurrence].sibling
            }
            return true
        }
    }

    /// Version of an occurrence by the rule of its type.
    func version(of occurrence: Int, _ bytes: UnsafeRawBufferPointer) -> EntityVersion? {
        guard let path = rule(of: occurrence)?.version else { return nil }
        var item = occurrences[occurrence].item
        for name in path {
            guard tape[item].kind == .beginObject,
                let member = tape.member(name, of: item, in: bytes)
            else { return nil }
            item = member
        }
        guard !tape[item].isContainer,
            let value = try? JSONValue(parsing: bytes.part(tape[item].range))
        else { return nil }
        return EntityVersion(value)
    }

    /// The rule of an occurrence's type.
    func rule(of occurrence: Int) -> EntityRules.OfType? {
        guard !rules.types.isEmpty else { return nil }
        let list = skeleton.shapes[occurrences[occurrence].shape].list
        return rules.types[Array(skeleton.bytes[skeleton.types[skeleton.lists[list].type]])]
    }
}

extension EntityBody {
    /// An entity of which no member is known.
    static var empty: EntityBody {
        var form = FormWriter(.entity)
        form.number(0)
        return EntityBody(form, [])
    }
}
