import LarderModel
import Testing

@testable import LarderConfiguration

@Suite("Mistakes in a configuration")
struct RefusalTests {
    @Test(
        "An unknown key is told with its place and the key that was meant",
        arguments: [
            ("cahce: {}", "1:1: there is no key 'cahce' (did you mean 'cache'?)"),
            ("nonsense: 1", "1:1: there is no key 'nonsense'"),
            (
                "cache:\n  max_byte: 1GiB",
                "2:3: there is no key 'cache.max_byte' (did you mean 'max_bytes'?)"
            ),
            (
                "max_bytes: 1GiB",
                "1:1: there is no key 'max_bytes' (did you mean 'cache.max_bytes'?)"
            ),
            (
                "sockets: {mdoe: 1}",
                "1:11: there is no key 'sockets.mdoe' (did you mean 'mode'?)"
            ),
            (
                "origins: {a: {base_url: http://a.b, base: x}}",
                "1:37: there is no key 'origins.a.base' (did you mean 'base_url'?)"
            ),
            (
                "origins:\n  a:\n    baseurl: http://a.b",
                "3:5: there is no key 'origins.a.baseurl' (did you mean 'base_url'?)"
            ),
            (
                "origins:\n  a:\n    base_url: http://a.b\n    fetch: {timout: 3s}",
                "4:13: there is no key 'origins.a.fetch.timout' (did you mean 'timeout'?)"
            ),
            (
                "queue: {max_modifier: 1}",
                "1:9: there is no key 'queue.max_modifier' (did you mean 'max_modifiers'?)"
            ),
            (
                "origins:\n  a:\n    base_url: http://a.b\n    modifiers: {answers: auto}",
                "4:17: there is no key 'origins.a.modifiers.answers' (did you mean 'answer'?)"
            ),
            (
                "origins:\n  a:\n    base_url: http://a.b\n    modifiers:\n      idempotency: {honored: true}",
                "5:21: there is no key 'origins.a.modifiers.idempotency.honored' (did you mean 'honoured'?)"
            ),
        ]
    )
    func unknownKeys(text: String, complaint: String) {
        #expect(complaints(text) == ["larder.yaml:" + complaint])
    }

    @Test(
        "A value that cannot be is told with its place",
        arguments: [
            (
                "cache: {max_bytes: 12}",
                "1:20: '12' is not a size: a number and one of B, KiB, MiB, GiB, TiB, such as 512MiB"
            ),
            (
                "cache: {max_bytes: 512MB}",
                "1:20: '512MB' is not a size: a number and one of B, KiB, MiB, GiB, TiB, such as 512MiB"
            ),
            ("cache: {max_bytes: 0B}", "1:20: 0B is out of range: 4KiB to 1024TiB"),
            ("cache: {max_bytes: [1]}", "1:20: cache.max_bytes is a single value, not a list"),
            (
                "cache: {max_bytes: {a: 1}}",
                "1:20: cache.max_bytes is a single value, not a mapping"
            ),
            ("cache: {max_bytes: }", "1:20: cache.max_bytes has no value"),
            ("cache: {low_watermark: 1.5}", "1:24: 1.5 is out of range: 0.1 to 1.0"),
            ("cache: {low_watermark: nan}", "1:24: 'nan' is not a number such as 0.9"),
            (
                "sockets: {mode: 660}",
                "1:17: '660' is not a mode: 0 and three octal digits, such as \"0660\""
            ),
            ("sockets: {api: larder.sock}", "1:16: 'larder.sock' is not an absolute path"),
            (
                "sockets: {api: /\(String(repeating: "a", count: 107))}",
                "1:16: the path has 108 bytes, at most 107 are taken"
            ),
            (
                "log: {level: warn}",
                "1:14: 'warn' is none of trace, debug, info, notice, warning, error, critical (did you mean 'warning'?)"
            ),
            ("log: {format: jsno}", "1:15: 'jsno' is none of auto, json (did you mean 'json'?)"),
            (
                "access: {admin_group: 'a:b'}",
                "1:23: 'a:b' is not the name or the number of a group"
            ),
            ("access: {admin_group: }", "1:23: access.admin_group has no value"),
            ("access: {user_share: 0.0}", "1:22: 0.0 is out of range: 0.01 to 1.0"),
            (
                "queue: {max_modifiers: 1e5}",
                "1:24: '1e5' is not a whole number such as 10000"
            ),
            ("queue: {max_modifiers: -1}", "1:24: '-1' is not a whole number such as 10000"),
            ("queue: {max_modifiers: 010}", "1:24: '010' is not a whole number such as 10000"),
            ("queue: {max_modifiers: ''}", "1:24: '' is not a whole number such as 10000"),
            (
                "queue: {max_modifiers: 99999999999999999999}",
                "1:24: 99999999999999999999 is out of range: 0 to 10000000"
            ),
            ("queue: {history: 1000001}", "1:18: 1000001 is out of range: 0 to 1000000"),
            ("cache: 5", "1:8: cache is a mapping of keys to values, not a single value"),
            ("- a", "1:1: the file is a mapping of keys to values, not a list"),
            ("hello", "1:1: the file is a mapping of keys to values, not a single value"),
            ("? [a]\n: 1", "1:3: a key is a text, not a list or a mapping"),
        ]
    )
    func badValues(text: String, complaint: String) {
        #expect(complaints(text) == ["larder.yaml:" + complaint])
    }

    @Test(
        "A mistake in an origin is named with its place",
        arguments: [
            ("{}", "2:3: origins.a needs a base_url"),
            ("{base_url: }", "2:17: origins.a.base_url has no value"),
            (
                "{base_url: 'ftp://a.b'}",
                "2:17: 'ftp://a.b' is not a URL that can be fetched: the scheme 'ftp' is neither http nor https"
            ),
            (
                "{base_url: 'http://a.b/?x=1'}",
                "2:17: 'http://a.b/?x=1' cannot be a base_url: it has a query or a fragment"
            ),
            (
                "{base_url: 'http://a.b', allow_private: yes}",
                "2:46: 'yes' is neither true nor false (did you mean 'true'?)"
            ),
            (
                "{base_url: 'http://a.b', headers: {'a b': c}}",
                "2:41: 'a b' is not a header's name: letters, digits and !#$%&'*+-.^_`|~"
            ),
            (
                "{base_url: 'http://a.b', headers: {Host: c}}",
                "2:41: 'Host' cannot be set: the daemon writes it by itself"
            ),
            (
                "{base_url: 'http://a.b', headers: {X: \"c\\r\\nY: d\"}}",
                "2:44: a header's value cannot contain control characters"
            ),
            (
                "{base_url: 'http://a.b', headers: {X-A: 1, x-a: 2}}",
                "2:49: duplicate header 'x-a'; case makes no difference"
            ),
            (
                "{base_url: 'http://a.b', fetch: {policy: cache_only}}",
                "2:47: 'cache_only' is none of cache-then-network, cache-first, network-first, stale-while-revalidate, cache-only, network-only (did you mean 'cache-only'?)"
            ),
            (
                "{base_url: 'http://a.b', fetch: {timeout: 30}}",
                "2:48: '30' is not a duration: a number and one of ms, s, m, h, d, such as 300ms or 7d"
            ),
            (
                "{base_url: 'http://a.b', fetch: {timeout: 0s}}",
                "2:48: 0s is out of range: 1ms to 1d"
            ),
        ]
    )
    func badOrigins(origin: String, complaint: String) {
        #expect(complaints("origins:\n  a: \(origin)") == ["larder.yaml:" + complaint])
    }

    @Test(
        "A mistake in an origin's modifiers is named with its place",
        arguments: [
            ("5", "3:14: origins.a.modifiers is a mapping of keys to values, not a single value"),
            ("{respond_async: 1}", "3:30: '1' is neither true nor false"),
            (
                "{idempotency: X-Key}",
                "3:28: origins.a.modifiers.idempotency is a mapping of keys to values, not a single value"
            ),
            (
                "{idempotency: {header: }}",
                "3:37: origins.a.modifiers.idempotency.header has no value"
            ),
            (
                "{answer: represent}",
                "3:23: 'represent' is none of auto, representation (did you mean 'representation'?)"
            ),
            (
                "{after_unknown: resent}",
                "3:30: 'resent' is none of auto, resend, hold (did you mean 'resend'?)"
            ),
            ("{accepted_limit: 0s}", "3:31: 0s is out of range: 1s to 365d"),
            ("{accepted_limit: null}", "3:31: origins.a.modifiers.accepted_limit has no value"),
            ("{stalled_after: 0}", "3:30: 0 is out of range: 1 to 1000000"),
            (
                "{refused_if: {equals: 1}}",
                "3:27: origins.a.modifiers.refused_if needs a pointer, such as /errors"
            ),
            (
                "{refused_if: [{pointer: errors}]}",
                "3:38: origins.a.modifiers.refused_if.pointer: a JSON pointer is empty or begins with '/'"
            ),
            (
                "{keep_headers: [Set-Cookie]}",
                "3:30: 'Set-Cookie' is not kept: it may carry a secret"
            ),
            ("{made_id: /id}", "3:15: there is no key 'origins.a.modifiers.made_id'"),
        ]
    )
    func badModifiers(modifiers: String, complaint: String) {
        let text = "origins:\n  a: {base_url: 'http://a.b',\n  modifiers: \(modifiers)}"
        #expect(complaints(text) == ["larder.yaml:" + complaint])
    }

    @Test(
        "A modifier's key goes into a header that says nothing else",
        arguments: [
            ("a b", "is not a header's name: letters, digits and !#$%&'*+-.^_`|~"),
            ("host", "cannot be set: the daemon writes it by itself"),
            ("Transfer-Encoding", "cannot be set: the daemon writes it by itself"),
            ("Authorization", "cannot carry a key: it says something else to a server"),
            ("cookie", "cannot carry a key: it says something else to a server"),
            ("Content-Key", "cannot carry a key: it says something else to a server"),
            ("If-Match", "cannot carry a key: it says something else to a server"),
        ]
    )
    func badIdempotencyHeader(name: String, reason: String) {
        let text =
            "origins: {a: {base_url: 'http://a.b',\n modifiers: {idempotency: {header: \(name)}}}}"
        #expect(complaints(text) == ["larder.yaml:2:36: '\(name)' \(reason)"])
    }

    @Test("An origin's headers leave the one alone that carries a modifier's key")
    func idempotencyHeaderAmongHeaders() {
        let text = """
            origins:
              a: {base_url: https://a.b, headers: {idempotency-key: x}}
              b:
                base_url: https://c.d
                modifiers: {idempotency: {header: X-Key}}
                headers: {Idempotency-Key: x, x-key: x}
            """
        #expect(
            complaints(text) == [
                "larder.yaml:2:30: origins.a.headers has 'Idempotency-Key', which carries the key of each modifier",
                "larder.yaml:6:5: origins.b.headers has 'X-Key', which carries the key of each modifier",
            ]
        )
    }

    @Test("Two origins with one address are refused, a slash at the end or not")
    func equalAddresses() {
        let text = """
            origins:
              a: {base_url: https://a.b/v1}
              b: {base_url: https://A.b:443/v1/}
              c: {base_url: https://a.b/v10}
            """
        #expect(
            complaints(text) == [
                "larder.yaml:3:17: origins.b has the base_url of origins.a in larder.yaml:2:17; an address belongs to one origin"
            ]
        )
    }

    @Test("A bad name of an origin is refused")
    func badName() {
        #expect(
            complaints("origins: {'a b': {base_url: http://a.b}}") == [
                "larder.yaml:1:11: 'a b' is not an origin's name: 1 to 64 letters, digits, '.', '_', '-'"
            ]
        )
    }

    @Test("A key given twice is named at its second place, and the rest is still read")
    func duplicates() {
        let text = """
            cache:
              max_bytes: 1GiB
              "max_bytes": 2GiB
              max_bytes: 3GiB
            log: {level: info, level: loud}
            cache: {}
            nonsense: 1
            """
        #expect(
            complaints(text) == [
                "larder.yaml:3:3: duplicate key 'max_bytes'",
                "larder.yaml:4:3: duplicate key 'max_bytes'",
                "larder.yaml:5:20: duplicate key 'level'",
                "larder.yaml:6:1: duplicate key 'cache'",
                "larder.yaml:7:1: there is no key 'nonsense'",
            ]
        )
    }

    @Test("All mistakes are named together, those of the file first and from its top")
    func everything() {
        let text = """
            log: {level: loud}
            cache: {max_bytes: 1, memory: 2}
            """
        let environment = [
            "LARDER_CACHE_MAXBYTES": "1GiB", "LARDER_LOG_FORMAT": "xml",
            "LARDER_ORIGINS_A_BASE_URL": "http://a.b",
        ]
        let found = complaints(text, environment: environment)
        #expect(
            found.map { $0.prefix(while: { $0 != "'" && $0 != "(" }) } == [
                "larder.yaml:1:14: ", "larder.yaml:2:20: ", "larder.yaml:2:23: there is no key ",
                "environment: LARDER_CACHE_MAXBYTES: there is no such key ",
                "environment: LARDER_LOG_FORMAT: ",
                "environment: LARDER_ORIGINS_A_BASE_URL: "
                    + "origins come from files only",
            ]
        )
    }

    @Test(
        "A text that is not YAML is told with its place",
        arguments: [
            ("cache: {max_bytes", "2:1"), ("a: b: c", "1:5"), ("a:\n\tb: 1", "2:1"),
            ("log: *nowhere", "1:6"), ("a: \u{7}", "1:4"), ("log: {}\n---\nlog: {}", "2:1"),
            ("[a, b", "2:1"),
        ]
    )
    func notYAML(text: String, place: String) throws {
        let found = complaints(text)
        #expect(found.count == 1)
        let first = try #require(found.first)
        #expect(first.hasPrefix("larder.yaml:\(place): "), "\(first)")
    }

    @Test("Deep nesting is refused and not followed to the end of the stack")
    func nesting() {
        let text = String(repeating: "[", count: 100_000)
        #expect(complaints(text).count == 1)
    }
}
