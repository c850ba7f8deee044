import LarderClient

/// A small program on top of a cache: `Reader SOCKET show|keep|read|save URL`, `Reader SOCKET saved`
/// and `Reader SOCKET download URL FILE`.
///
/// It has no code for a missing network. The cached answer comes first anyway, and the network's
/// failure is one more update.
@main
struct Main {
    static func main() async {
        guard CommandLine.arguments.count >= 3 else { return print(usage) }
        let socket = CommandLine.arguments[1]
        let larder = LarderClient(socket: .path(socket))
        do throws(LarderError) {
            try await run(Array(CommandLine.arguments[2...]), Reader(larder: larder))
        } catch .offline(let problem) {
            print("There is no network, and nothing was kept: \(problem.hint)")
        } catch .unreachable {
            print("There is no larderd at \(socket).")
        } catch {
            print("It failed: \(error)")
        }
        await larder.shutdown()
    }

    private static func run(_ words: [String], _ reader: Reader) async throws(LarderError) {
        switch (words[0], words.count) {
        case ("show", 2): try await reader.show(words[1])
        case ("keep", 2): try await reader.keep(words[1])
        case ("read", 2): print("\(try await reader.read(words[1])) bytes")
        case ("save", 2): try await reader.save(words[1])
        case ("saved", 1): try await reader.listSaved()
        case ("download", 3): try await reader.download(words[1], to: words[2])
        default: print(usage)
        }
    }

    private static let usage = """
        usage: Reader SOCKET show|keep|read|save URL
               Reader SOCKET saved
               Reader SOCKET download URL FILE
        """
}
