import Foundation
import LarderClient

/// The list at a URL; the daemon has its server as the origin `todo`.
struct TodoList {
    let larder: LarderClient
    let url: String

    /// Prints the list as it is known now, or again after each change here and on the server.
    func show(isFollowed: Bool) async throws(LarderError) {
        for try await state in larder.observe(url, as: Todos.self) {
            print(state.text)
            if !isFollowed { return }
        }
    }

    func add(_ title: String) async throws(LarderError) {
        let last = try await todos().last?.position ?? 0
        // The server gives it another id later.
        let id = "tmp:\(UUID().uuidString.lowercased())"
        try await put(Todo(id: id, title: title, done: false, position: last + 1))
    }

    func rename(_ place: Int, to title: String) async throws(LarderError) {
        try await change(place, ["title": JSON(encoding: title)])
    }

    func change(_ place: Int, _ members: JSON) async throws(LarderError) {
        let todos = try await todos()
        guard todos.indices.contains(place) else { return print("There is no such to-do.") }
        try await larder.write(Modifier(.merge(members), on: todos[place].entity))
    }

    func move(_ place: Int, to other: Int) async throws(LarderError) {
        let rest = try await todos().enumerated().filter { $0.offset != place }.map(\.element)
        guard other >= 0, other <= rest.count else { return print("There is no such place.") }
        let before = other > 0 ? rest[other - 1].position : nil
        let after = other < rest.count ? rest[other].position : nil
        let position = ((before ?? (after ?? 0) - 2) + (after ?? (before ?? 0) + 2)) / 2
        try await change(place, ["position": JSON(encoding: position)])
    }

    func delete(_ place: Int) async throws(LarderError) {
        let todos = try await todos()
        guard todos.indices.contains(place) else { return print("There is no such to-do.") }
        try await larder.write(Modifier(.delete, on: todos[place].entity))
    }

    /// Adds what the server refused once more, with another title.
    func addAgain(_ title: String) async throws(LarderError) {
        for try await refused in larder.modifiers(.state(.failed)) {
            try await larder.act(.drop, onModifier: refused.id)
            return try await add(title)
        }
    }

    /// Decides between the titles of this device and of another one.
    func decide(_ choice: WriteConflict.Choice) async throws(LarderError) {
        for try await conflict in larder.conflicts { return try await conflict.resolve(choice) }
    }

    func logIn(_ token: String) async throws(LarderError) {
        try await larder.setCredential("Bearer \(token)", at: "todo")
    }

    private func put(_ todo: Todo) async throws(LarderError) {
        let body = try JSON(encoding: NewTodo(title: todo.title, position: todo.position))
        let request = ModifierRequestCommand("POST", url, body: body)
        let effect = Modifier.Effect.listAdd(["/items": [try JSON(encoding: todo)]])
        try await larder.write(Modifier(effect, on: url, request: request))
    }

    private func todos() async throws(LarderError) -> [Todo] {
        do throws(LarderError) {
            let list = try await larder.entry(url)
            let todos = try? JSONDecoder().decode(Todos.self, from: Data(list.bytes))
            return todos?.inOrder ?? []
        } catch .miss {
            return []
        } catch {
            throw error
        }
    }
}
