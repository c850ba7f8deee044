import LarderClient

/// A to-do list in the terminal: `Todo SOCKET URL list`, `Todo SOCKET URL add TITLE` and so on.
///
/// It has no code for a missing network, for restarts or for ids that are not known yet. What a
/// person types is on disk when a command ends.
@main
struct Main {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 3 else { return print(usage) }
        let larder = LarderClient(socket: .path(words[0]))
        do throws(LarderError) {
            let list = TodoList(larder: larder, url: words[1])
            try await run(words[2], Array(words[3...]), list)
        } catch {
            print("It failed: \(error)")
        }
        await larder.shutdown()
    }

    private static func run(
        _ command: String,
        _ words: [String],
        _ list: TodoList
    ) async throws(LarderError) {
        let places = words.map { (Int($0) ?? 0) - 1 }
        switch (command, words.count) {
        case ("list", 0): try await list.show(isFollowed: false)
        case ("watch", 0): try await list.show(isFollowed: true)
        case ("add", 1): try await list.add(words[0])
        case ("rename", 2): try await list.rename(places[0], to: words[1])
        case ("done", 1): try await list.change(places[0], ["done": true])
        case ("move", 2): try await list.move(places[0], to: places[1])
        case ("delete", 1): try await list.delete(places[0])
        case ("again", 1): try await list.addAgain(words[0])
        case ("mine", 0): try await list.decide(.mine)
        case ("theirs", 0): try await list.decide(.theirs)
        case ("login", 1): try await list.logIn(words[0])
        default: print(usage)
        }
    }

    private static let usage = """
        usage: Todo SOCKET URL list | watch
               Todo SOCKET URL add TITLE | rename N TITLE | done N | move N M | delete N
               Todo SOCKET URL again TITLE | mine | theirs | login TOKEN
        """
}
