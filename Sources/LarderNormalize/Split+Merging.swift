import LarderJSON
import LarderModel

extension Split {
    /// Merges what the answer brought of an entity into what is held of it.
    ///
    /// A member that came replaces, one that did not come stays, `null` is a value. A member whose
    /// value is the same keeps the bytes that it has, so that what was told of it before still
    /// holds. An answer that comes too late adds members that nothing is known of and overwrites
    /// none; one that was deleted meanwhile stays deleted.
    ///
    /// - Parameters:
    ///   - number: The entity's place in ``keys``.
    ///   - held: What the store knows of it.
    ///   - fetch: The number that the fetch took when it started.
    /// - Returns: What it holds now, and what of that is new.
    package func merged(_ number: Int, into held: HeldEntity, fetch: Int64) -> MergedEntity {
        let key = keys[number]
        let before: EntityStamp?
        let base: EntityBody?
        switch held {
        case .unknown: (before, base) = (nil, nil)
        case .present(let body, let stamp): (before, base) = (stamp, body)
        case .deleted(let stamp): (before, base) = (stamp, nil)
        }
        if base == nil, isLate(number, behind: before, fetch: fetch) {
            return MergedEntity(
                key: key,
                held: held,
                change: .nothing,
                isWritten: false,
                isContradicted: false,
                before: before,
                fetch: fetch
            )
        }
        return body.withUnsafeBytes { bytes in
            var merging = EntityMerging(self, bytes, base: base)
            // A tombstone's stamp is not that of what comes to life again.
            var stamp = base == nil ? nil : before
            var occurrence = firstOccurrences[number]
            while occurrence >= 0 {
                let version = version(of: occurrence, bytes)
                let isLate = stamp?.isAhead(of: version, fetch: fetch) ?? false
                merging.apply(occurrence, isLate: isLate)
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
                fetch: fetch
            )
        }
    }

    /// Whether no occurrence of the entity is new enough to overwrite what this stamp is on.
    private func isLate(_ number: Int, behind stamp: EntityStamp?, fetch: Int64) -> Bool {
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

    /// What the rule of its type says which version an occurrence is.
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
