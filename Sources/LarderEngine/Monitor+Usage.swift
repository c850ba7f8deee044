import LarderModel
package import LarderStore
package import LarderWire

extension Monitor {
    /// Where the bytes of some scopes are, and how the files and the disk are.
    package func usage(_ scopes: RowScopes) async throws(Problem) -> UsageReport {
        let usage = try await context.read { reader throws(StoreError) in
            try reader.usage.of(scopes)
        }
        let totals = store.totals
        var report = UsageReport(
            rows: usage.total,
            byKind: usage.byKind.map { group in
                let kind = group.name.flatMap(Int64.init).flatMap(EntryKind.init(rawValue:))
                return UsageGroup(name: kind?.name, rows: group.rows)
            },
            byOrigin: usage.byOrigin,
            byUser: usage.byScope.compactMap { group in
                guard let scope = group.name.flatMap(Scope.init(text:)) else { return nil }
                return UsageReport.Owned(scope: scope, rows: group.rows)
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
        report.normalized = usage.normalized
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
