import LarderModel

struct CacheStart {
    /// Nil where the folder is the state's, whose lock serves both.
    let folder: FolderHold?
    let opening: Result<CacheOpening, StoreError>
    let keySeed: UInt64

    /// Another process that holds the folder is the only error: it holds the file too.
    init(
        _ database: DatabaseFile,
        _ configuration: StoreConfiguration,
        _ reserve: Reserve,
        keySeed: UInt64
    ) throws(StoreError) {
        let isShared = configuration.cacheDirectory == configuration.stateDirectory
        let folder = isShared ? nil : FolderHold(configuration.cacheDirectory)
        self.folder = folder
        do throws(StoreError) {
            try folder?.ensure()
            opening = Self.open(database, configuration, reserve, keySeed)
        } catch {
            if case .inUse = error { throw error }
            opening = .failure(error)
        }
        self.keySeed = (try? opening.get())?.contents.keySeed ?? keySeed
    }

    var highestRevision: Revision { (try? opening.get())?.contents.highestRevision ?? Revision(0) }

    /// Tries twice: a file that opens later would have to have the keys of this process.
    ///
    /// On a full disk it first removes the copy that was set aside and the reserve, then the file.
    private static func open(
        _ database: DatabaseFile,
        _ configuration: StoreConfiguration,
        _ reserve: Reserve,
        _ keySeed: UInt64
    ) -> Result<CacheOpening, StoreError> {
        let birth = CacheOpening.Birth(keySeed: keySeed, hashMask: configuration.hashMask)
        let cacheBytes = configuration.pageCacheBytes(of: .writer)
        func attempt() -> Result<CacheOpening, StoreError> {
            Result { () throws(StoreError) in
                try CacheOpening(database, cacheBytes: cacheBytes, birth)
            }
        }
        let first = attempt()
        guard case .failure(let error) = first else { return first }
        guard case .diskFull = error else { return attempt() }
        database.removeAside()
        _ = reserve.release()
        let second = attempt()
        guard case .failure(.diskFull) = second, reserve.fitsInPlace(of: database) else {
            return second
        }
        return Result { () throws(StoreError) in
            try database.remove()
            return try attempt().get()
        }
    }
}
