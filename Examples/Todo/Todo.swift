import Foundation
import LarderClient

/// A to-do, as its server spells it.
struct Todo: Codable, Sendable {
    var type = "Todo"
    let id: String
    let title: String
    let done: Bool
    let position: Double

    var entity: String { "entity:todo/Todo:\(id)" }
}

/// What the server needs to create a to-do.
struct NewTodo: Encodable, Sendable {
    var type = "Todo"
    let title: String
    var done = false
    let position: Double
}

struct Todos: Decodable, Sendable {
    let items: [Todo]

    var inOrder: [Todo] { items.sorted { $0.position < $1.position } }
}

extension Observed<Todos> {
    /// The list with a mark at each to-do that waits or was refused.
    var text: String {
        var lines =
            value?.inOrder.enumerated().map { place, todo in
                let row = rows.first { $0.id == todo.entity }
                let mark =
                    row.map { $0.failed.isEmpty ? " (waits)" : " (a change was refused)" } ?? ""
                return "\(place + 1). [\(todo.done ? "x" : " ")] \(todo.title)\(mark)"
            } ?? ["Nothing is known yet."]
        for row in failedRows {
            let todo = try? JSONDecoder().decode(Todo.self, from: Data(row.value.bytes))
            lines.append("The server refused: \(todo?.title ?? row.id)")
        }
        return lines.joined(separator: "\n")
    }
}
