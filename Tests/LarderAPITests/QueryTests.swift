import Testing

@testable import LarderAPI

@Suite("Decoding of queries")
struct QueryTests {
    private struct Query: Decodable, Equatable {
        var id: [String]?
        var states: [PinState]?
        var limit: Int?
        var isShared: Bool?
        var wait: Duration?
        var state: PinState?
        var cursor: String?
    }

    private func message(_ query: String) -> String {
        do throws(APIDecodingError) {
            _ = try APIDecoder(.strict).decode(Query.self, query: query[...])
            return "none"
        } catch {
            return error.message
        }
    }

    @Test("Parameters are read by the types of their properties")
    func types() throws {
        let query = "limit=7&is_shared=1&wait=10s&state=held&cursor=a%2Bb+c&states=held,gone"
        #expect(
            try APIDecoder(.strict).decode(Query.self, query: query[...])
                == Query(
                    states: [.held, .gone],
                    limit: 7,
                    isShared: true,
                    wait: .seconds(10),
                    state: .held,
                    cursor: "a+b c"
                )
        )
        #expect(try APIDecoder(.strict).decode(Query.self, query: "") == Query())
    }

    @Test("An array is a parameter that is repeated; commas divide only what has none")
    func arrays() throws {
        let query = "id=a,b&id=c&states=held%2Cgone&states=failed"
        #expect(
            try APIDecoder(.strict).decode(Query.self, query: query[...])
                == Query(id: ["a,b", "c"], states: [.held, .gone, .failed])
        )
    }

    @Test("A query is written as it is read, without what has no value")
    func written() throws {
        var watch = WatchQuery()
        watch.since = 7
        watch.id = ["a&b", "é"]
        watch.options.types = [.put, .evict]
        watch.options.initial = true
        watch.options.timeout = .seconds(30)
        let query = APIEncoder().query(watch)
        #expect(
            query == "since=7&id=a%26b&id=%C3%A9&types=put&types=evict&initial=true&timeout=30s"
        )
        #expect(try APIDecoder(.strict).decode(query: query[...]) == watch)
        #expect(APIEncoder().query(PinListQuery()).isEmpty)
    }

    @Test(
        "A boolean has four spellings",
        arguments: [("true", true), ("1", true), ("false", false), ("0", false)]
    )
    func booleans(text: String, value: Bool) throws {
        let query = try APIDecoder(.strict).decode(Query.self, query: "is_shared=\(text)")
        #expect(query.isShared == value)
    }

    @Test(
        "A mistake in a query is named with its parameter",
        arguments: [
            (
                "bogus=1",
                "unknown query parameter 'bogus', there are: "
                    + "id, states, limit, is_shared, wait, state, cursor"
            ),
            ("limt=1", "unknown query parameter 'limt', did you mean 'limit'?"),
            ("limit=1&limit=2", "the query parameter 'limit' is given twice"),
            ("limit=x", "'limit' is 'x', an integer is needed"),
            ("limit=+1", "'limit' is ' 1', an integer is needed"),
            ("limit=%2B1", "'limit' is '+1', an integer is needed"),
            ("limit=", "'limit' is '', an integer is needed"),
            (
                "limit=99999999999999999999",
                "limit: 99999999999999999999 is out of range, "
                    + "-9223372036854775808 to 9223372036854775807 is needed"
            ),
            ("is_shared=yes", "is_shared: 'yes' is unknown, there are: true, false, 1, 0"),
            ("state=hold", "state: 'hold' is unknown, did you mean 'held'?"),
            ("states=held,helt", "states[1]: 'helt' is unknown, did you mean 'held'?"),
            ("cursor=%F", "the query parameter 'cursor' is not percent-encoded UTF-8"),
            (
                "limit=1&bogus",
                "unknown query parameter 'bogus', there are: "
                    + "id, states, limit, is_shared, wait, state, cursor"
            ),
        ]
    )
    func refusals(query: String, expected: String) {
        #expect(message(query) == expected)
    }
}
