package import LarderModel

/// How the files are, for those who look after them.
extension CacheStore {
    /// The names and lengths of the files, and of their WALs.
    package var fileLengths: [(name: String, bytes: Int64, walBytes: Int64)] {
        databaseFiles.map { file in
            (
                file.name, DiskSpace.fileBytes(at: file.path),
                DiskSpace.fileBytes(at: file.path + "-wal")
            )
        }
    }

    /// The lengths of `cache.db` and its WAL.
    package var fileSizes: (database: Int64, wal: Int64) {
        let wal = DiskSpace.fileBytes(at: database.path + "-wal")
        return (DiskSpace.fileBytes(at: database.path), wal)
    }

    /// Bytes that are free where the cache's file lies; nil where it cannot be told.
    package var diskFreeBytes: Int64? { configuration.freeBytes(configuration.cacheDirectory) }

    /// What the cache leaves free there.
    package var minFreeBytes: Int64 { configuration.minFreeBytes.bytes }

    /// Has SQLite look at the structure of both files, off the event loops, until it is done or
    /// `over` returns.
    package func checkFiles(
        until over: @escaping @Sendable () async -> Void
    ) async throws(StoreError) -> [FileFinding] {
        try await examiner.check(databaseFiles, until: over)
    }

    /// The reserves of the two folders: one, where they are the same.
    static func makeReserves(
        _ configuration: StoreConfiguration
    ) -> (cache: Reserve, state: Reserve) {
        func reserve(_ directory: String, expendable: String? = nil) -> Reserve {
            Reserve(
                directory: directory,
                bytes: configuration.reserveBytes,
                expendable: expendable,
                freeBytes: configuration.freeBytes
            )
        }
        let folder = configuration.stateDirectory
        let state = reserve(folder, expendable: StateFile.database(in: folder, nil).snapshotPath)
        let isOne = folder == configuration.cacheDirectory
        return (isOne ? state : reserve(configuration.cacheDirectory), state)
    }

    static func makeSnapshots(
        _ configuration: StoreConfiguration,
        _ file: DatabaseFile,
        _ reserve: Reserve,
        _ found: Findings
    ) -> StateSnapshots {
        StateSnapshots(
            of: file,
            every: configuration.snapshotAge,
            hasRoom: { bytes in
                // While it is not there, what space comes free is for it.
                guard reserve.isHeld else { return false }
                // What cannot be told is no reason to have none.
                guard let free = configuration.freeBytes(configuration.stateDirectory) else {
                    return true
                }
                return free - bytes >= max(configuration.minFreeBytes.bytes, Limits.stateSpaceMin)
            },
            report: { found.tell($0) }
        )
    }

    /// What was set aside of `state.db`, and nobody has removed since.
    package var asideSets: [AsideSet] { stateFile.file.asideSets }

    /// Who may read the folders and the files.
    package var fileRights: [FileRights] {
        var directories = [configuration.cacheDirectory]
        if configuration.stateDirectory != configuration.cacheDirectory {
            directories.append(configuration.stateDirectory)
        }
        return FileExaminer.rights(directories, databaseFiles)
    }

    /// How the folders' reserves are; none where there are to be none.
    package var reserves: [ReserveFinding] {
        let isOne = stateReserve === cacheReserve
        return (isOne ? [cacheReserve] : [cacheReserve, stateReserve]).compactMap { $0.look() }
    }

    /// When the bytes of the row that was stored last were given; nil in an empty cache.
    package func latestStoredAt() async throws(StoreError) -> Timestamp? {
        try await read { reader throws(StoreError) in
            let latest = try reader.reading { file throws(StoreError) -> Timestamp? in
                let statement = try file.connection.prepare("SELECT max(stored_at) FROM recency")
                guard try statement.step() else { return nil }
                return statement.integerOrNil(0).map(Timestamp.init(milliseconds:))
            }
            return latest ?? nil
        }
    }

    private var databaseFiles: [DatabaseFile] { [database, stateFile.file] }
}
