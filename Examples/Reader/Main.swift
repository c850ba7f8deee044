import LarderClient

/// A small program on top of a cache: `Reader SOCKET show|keep|read URL`.
///
/// It has no code for the case that there is no network: the cached answer comes first anyway, and
/// the network's failure is one more update.
@main
struct Main {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else {
            print("usage: Reader SOCKET show|keep|read URL")
            return
        }
        let larder = LarderClient(socket: .path(arguments[1]))
        let reader = Reader(larder: larder)
        do throws(LarderError) {
            switch arguments[2] {
            case "show": try await reader.show(arguments[3])
            case "keep": try await reader.keep(arguments[3])
            case "read": print("\(try await reader.read(arguments[3])) bytes")
            default: print("'\(arguments[2])' is none of show, keep, read")
            }
        } catch .offline(let problem) {
            print("There is no network, and nothing was kept: \(problem.hint)")
        } catch .unreachable {
            print("There is no larderd at \(arguments[1]).")
        } catch {
            print("It failed: \(error)")
        }
        await larder.shutdown()
    }
}
