import LarderModel
import LarderTestSupport
import LarderWire

/// Changes what a newsroom's entities are, by all the ways that lead there, and writes down what
/// follows from it.
struct NewsroomWriter: Sendable {
    /// These pages change by what others bring alone.
    static let keptPages = 0..<20

    private(set) var history = CrowdHistory()
    private var room: Newsroom
    private var random: SeededRandom
    private var serial = 0
    private let server: ServerFixture
    private let client: RawClient
    private let origin: OriginName

    init(_ room: Newsroom, seed: UInt64, at server: ServerFixture) async throws {
        self.room = room
        self.server = server
        random = SeededRandom(seed: seed)
        client = try await server.connect()
        origin = try OriginName("example")
    }

    /// Has the daemon hold all of it; the last step's revision.
    func publish() async throws -> Revision {
        // Asked for by its key none is swept.
        for author in room.authors.indices {
            _ = try await put(Newsroom.author(author), room.author(author))
        }
        var last = Revision(0)
        for answer in room.cached { last = try await fetch(answer) }
        return last
    }

    mutating func step() async throws {
        let author = draw(room.authors.count)
        switch draw(20) {
        case 0..<7: try await rename(author)
        case 7..<9: try await age(author)
        case 9..<11: try await delete(author)
        case 11..<14: try await retitle(draw(room.articles.count))
        case 14..<18: try await publishAnew()
        case 18: try await forget(Self.keptPages.count + draw(room.articles.count / 4))
        default: try await tryToEvict()
        }
    }

    private mutating func draw(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    private mutating func fresh(_ word: String) -> String {
        serial += 1
        return "\(word) \(serial)"
    }

    // MARK: Entities

    private mutating func rename(_ number: Int) async throws {
        room.authors[number] = Newsroom.Author(name: fresh("renamed"))
        let key = Newsroom.author(number)
        note([key], at: try await put(key, room.author(number)))
    }

    /// Sets a member that no answer has.
    private mutating func age(_ number: Int) async throws {
        guard !room.authors[number].isDeleted else { return try await rename(number) }
        serial += 1
        let key = Newsroom.author(number)
        note([key], isShown: false, at: try await put(key, #"{"age":\#(serial)}"#))
    }

    private mutating func delete(_ number: Int) async throws {
        guard !room.authors[number].isDeleted else { return try await rename(number) }
        room.authors[number].isDeleted = true
        let key = Newsroom.author(number)
        let answer = try await client.ask("DELETE", "/v1/entries/entity:example/\(path(key.text))")
        note([key], at: try revision(of: answer, 204))
    }

    private mutating func retitle(_ number: Int) async throws {
        let title = fresh("retitled")
        room.articles[number].title = title
        let key = Newsroom.article(number)
        note([key], at: try await put(key, #"{"title":"\#(title)"}"#))
    }

    private func put(_ key: EntityKey, _ json: String) async throws -> Revision {
        let path = "/v1/entries/entity:example/\(path(key.text))"
        return try revision(
            of: try await client.ask("PUT", path, body: Array(json.utf8)),
            201,
            204
        )
    }

    // MARK: Answers

    /// The origin says something new of an answer's entities, or the same again.
    private mutating func publishAnew() async throws {
        let others = room.articles.count - Self.keptPages.count
        let answer: Newsroom.Answer =
            draw(2) == 0
            ? .page(Self.keptPages.count + draw(others)) : .feed(draw(room.feeds.count))
        var changed: Set<EntityKey> = []
        for number in room.articles(in: answer) {
            if draw(4) == 0 {
                room.articles[number].title = fresh("published")
                changed.insert(Newsroom.article(number))
            }
            if draw(4) == 0 {
                let author = draw(room.authors.count)
                if room.articles[number].author != author {
                    changed.insert(Newsroom.article(number))
                }
                room.articles[number].author = author
            }
            let author = room.articles[number].author
            let isRenamed = draw(4) == 0
            if isRenamed || room.authors[author].isDeleted {
                changed.insert(Newsroom.author(author))
            }
            if isRenamed { room.authors[author].name = fresh("published") }
            room.authors[author].isDeleted = false
        }
        var isNew = false
        if case .page(let number) = answer { isNew = room.pages.insert(number).inserted }
        let revision = try await fetch(answer)
        note(changed, at: revision, by: answer, isNew: isNew)
    }

    private func fetch(_ answer: Newsroom.Answer) async throws -> Revision {
        let url = try Newsroom.url(answer)
        server.upstream.answer(url, with: .json(room.text(answer)))
        let path = "/v1/fetch?url=\(path(url.text))&policy=network-only"
        for case .snapshot(let snapshot) in try await client.ask("GET", path).frames() {
            return snapshot.revision
        }
        throw CrowdListener.Fault(answer: "\(url) is not shown")
    }

    private mutating func forget(_ number: Int) async throws {
        guard room.pages.remove(number) != nil else { return try await publishAnew() }
        let id = try EntryID(Newsroom.url(.page(number)))
        let answer = try await client.ask("DELETE", "/v1/entries/\(path(id.text))")
        guard answer.status == 204 else { throw CrowdListener.Fault(answer: answer.text) }
        history.add(id, CrowdEvent(kind: .evict, ground: .row, revision: nil))
    }

    /// What is watched by its id stays, and nobody is told.
    private mutating func tryToEvict() async throws {
        let number = Self.keptPages.lowerBound + draw(Self.keptPages.count)
        let url = try Newsroom.url(.page(number))
        let command = #"{"ids":["\#(url)"]}"#
        let answer = try await client.ask("POST", "/v1/evict", body: Array(command.utf8))
        guard answer.text.contains(#""skipped":1"#) else {
            throw CrowdListener.Fault(answer: answer.text)
        }
    }

    // MARK: What follows

    /// Entities have changed: who watches them is told, and who watches what shows them.
    private mutating func note(
        _ changed: Set<EntityKey>,
        isShown: Bool = true,
        at revision: Revision,
        by answer: Newsroom.Answer? = nil,
        isNew: Bool = false
    ) {
        for key in changed {
            let isDeleted = room.authors.indices.contains {
                room.authors[$0].isDeleted && Newsroom.author($0) == key
            }
            history.add(
                EntryID(EntityName(key, of: origin)),
                CrowdEvent(kind: isDeleted ? .delete : .put, ground: .row, revision: revision)
            )
        }
        for cached in room.cached {
            let concerned = room.entities(in: cached).intersection(changed)
            let isNewItself = cached == answer && isNew
            // One that comes again as what it shows already is no change.
            guard !concerned.isEmpty || isNewItself, let id = id(cached) else { continue }
            let ground: CrowdEvent.Ground =
                if isNewItself { .row } else if isShown { .shown } else { .equal }
            // A client that has seen these bytes is told the revision that it knows.
            var event = CrowdEvent(kind: .put, ground: ground, revision: revision)
            event.changed = concerned
            history.add(id, event)
        }
    }

    private func id(_ answer: Newsroom.Answer) -> EntryID? {
        (try? Newsroom.url(answer)).flatMap { try? EntryID($0) }
    }
}

/// An id or a key as a part of a path or a query.
func path(_ text: String) -> String { PercentCoding.encode(text) }

/// The revision that an answer names, which must have one of some statuses.
func revision(of answer: RawResponse, _ statuses: Int...) throws -> Revision {
    guard statuses.contains(answer.status),
        let number = answer.headers["Larder-Rev"].flatMap({ Int64($0) })
    else { throw CrowdListener.Fault(answer: "\(answer.status) \(answer.text)") }
    return Revision(number)
}
