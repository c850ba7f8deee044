public import LarderAPI

extension LarderClient {
    /// What changes in the cache, whoever brings it.
    ///
    ///     var command = WatchCommand()
    ///     command.prefixes = ["https://api.example.com/articles/"]
    ///     for try await event in larder.watch(command) {
    ///         if case .frame(.put(let change)) = event { reload(change.id) }
    ///     }
    ///
    /// It connects again by itself, with the last revision that it has seen, so that what changes
    /// meanwhile is told then. A program that takes its events slowly is told of several changes of
    /// one id as one. Each watch holds a connection, of which a client has a hundred.
    ///
    /// - Parameter command: What the watch is about; without it everything, from now on.
    /// - Returns: The events; nothing is asked before they are iterated.
    public func watch(_ command: WatchCommand = WatchCommand()) -> WatchEvents {
        WatchEvents(lines: watchLines(command))
    }

    package func watchLines(_ command: WatchCommand) -> WatchLines {
        WatchLines(client: self, command: command)
    }
}
