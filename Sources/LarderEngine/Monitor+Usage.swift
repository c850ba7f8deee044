import LarderModel
package import LarderStore
package import LarderWire

extension Monitor {
    /// Where the bytes of some scopes are, and how the files and the disk are.
    package func usage(_ scopes: RowScopes) async throws(Problem) -> UsageReport {
        let usage = try await context.read { reader throws(StoreError) in
            try reader.usage(scopes)
        }
        let totals = store.totals
        var report = UsageReport(
            rows: UsageReport.Rows(usage.total),
            byKind: usage.byKind.map { group in
                let kind = group.name.flatMap(Int64.init).flatMap(EntryKind.init(rawValue:))
                return UsageReport.Group(name: kind?.name, rows: UsageReport.Rows(group))
            },
            byOrigin: usage.byOrigin.map { group in
                UsageReport.Group(name: group.name, rows: UsageReport.Rows(group))
            },
            byUser: usage.byScope.compactMap { group in
                guard let scope = group.name.flatMap(Scope.init(text:)) else { return nil }
                return UsageReport.Owned(scope: scope, rows: UsageReport.Rows(group))
            },
            cacheBytes: totals.bytes,
            cacheBytesMax: maxBytes,
            budgetBytes: totals.budget,
            pins: UsageReport.Pins(usage.pins, in: store.pins.totals),
            files: store.files.lengths.enumerated().map { index, file in
                UsageReport.File(
                    name: file.name,
                    bytes: file.bytes,
                    walBytes: file.walBytes,
                    freeBytes: index == 0 ? usage.freeBytes : nil
                )
            },
            diskFreeBytes: store.files.diskFreeBytes,
            minFreeBytes: store.files.minFreeBytes
        )
        report.normalized = UsageReport.Normalized(usage.normalized)
        return report
    }
}

extension UsageReport.Pins {
    fileprivate init(_ usage: PinUsage, in totals: PinTotals) {
        self.init(
            count: usage.count,
            waiting: usage.waiting,
            bytes: usage.bytes,
            totalBytes: totals.bytes,
            maxBytes: totals.maxBytes
        )
    }
}

extension UsageReport.Rows {
    fileprivate init(_ group: UsageGroup) {
        self.init(entries: group.entries, bytes: group.bytes, bodyBytes: group.bodyBytes)
    }
}

extension UsageReport.Normalized {
    fileprivate init(_ usage: NormalizedUsage) {
        self.init()
        entities = UsageReport.Count(count: usage.entities.count, bytes: usage.entities.bytes)
        skeletons = UsageReport.Count(count: usage.skeletons.count, bytes: usage.skeletons.bytes)
        references = UsageReport.Count(count: usage.references.count, bytes: usage.references.bytes)
    }
}
