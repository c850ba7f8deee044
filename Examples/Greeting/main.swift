import LarderClient

struct Greeting: Decodable { var hello: String }

let larder = LarderClient()
for try await update in larder.fetch(CommandLine.arguments[1], as: Greeting.self) {
    switch update {
    case .value(let greeting): print(greeting.source, greeting.isStale, greeting.value.hello)
    case .unchanged: print("the network has nothing newer")
    case .deleted: print("the server says that it is gone")
    case .failed(let problem): print("offline:", problem.detail)
    }
}
await larder.shutdown()
