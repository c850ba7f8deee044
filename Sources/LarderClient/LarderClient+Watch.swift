extension LarderClient {
    /// What changes in the cache, whoever brings it.
    ///
    ///     var options = WatchOptions()
    ///     options.prefixes = ["https://api.example.com/articles/"]
    ///     for try await event in larder.watch(options) {
    ///         if case .put(let change) = event { reload(change.id) }
    ///     }
    ///
    /// It connects again by itself, with the last revision that it has seen, so that what changes
    /// meanwhile is told then. A program that takes its events slowly is told of several changes of
    /// one id as one. Each watch holds a connection, of which a client has a hundred.
    ///
    /// - Parameter options: What the watch is about; without it everything, from now on.
    /// - Returns: The events; nothing is asked before they are iterated.
    public func watch(_ options: WatchOptions = WatchOptions()) -> WatchEvents {
        WatchEvents(client: self, options: options)
    }

    package func watchLines(_ options: WatchOptions) throws(LarderError) -> WatchLines {
        WatchLines(client: self, command: try options.command())
    }
}
