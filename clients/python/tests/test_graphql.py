"""A program with the GraphQL library gql over the httpx transport, and a server of graphql-core (S31)."""

import json
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support import Daemon

import larder

try:
    import gql
    import graphql
    from gql.transport.exceptions import TransportQueryError
    from gql.transport.httpx import HTTPXTransport
except ImportError:
    gql = None


class Server:
    """graphql-core behind http.server, with one book."""

    def __init__(self):
        self.schema = graphql.build_schema(
            "type Book { id: ID! title: String broken: String }"
            " type Query { book: Book } type Mutation { rename(title: String!): Book }"
        )
        self.asked, self.title = [], "Offline"
        self.start(0)

    def book(self, *_):
        def broken(*_):
            raise ValueError("it is broken")

        return {"id": "1", "title": self.title, "broken": broken}

    def rename(self, _info, title):
        self.title = title
        return self.book()

    def start(self, port):
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append(asked["query"])
                root = {"book": server.book, "rename": server.rename}
                result = graphql.graphql_sync(
                    server.schema, asked["query"], root, variable_values=asked.get("variables")
                )
                body = json.dumps(result.formatted).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()


@unittest.skipIf(gql is None, "gql is not installed")
class GraphQLTests(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(lambda: self.server.stop())
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        url = f"http://127.0.0.1:{self.server.port}"
        self.daemon = Daemon(
            Path(folder.name),
            f"origins: {{shop: {{base_url: '{url}', allow_private: true,"
            " fetch: {network_wait: 60s, post_reads: [/graphql], refused_if: {pointer: /errors}}}}\n",
        )
        self.addCleanup(self.daemon.log.close)
        self.addCleanup(self.daemon.stop)
        transport = HTTPXTransport(
            url + "/graphql", transport=larder.httpx.Transport(socket=self.daemon.socket)
        )
        self.client = gql.Client(transport=transport)

    def test_queries_come_offline_and_mutations_go_to_the_server(self):
        query = gql.gql("query { book { __typename id title } }")
        wanted = {"book": {"__typename": "Book", "id": "1", "title": "Offline"}}
        self.assertEqual(self.client.execute(query), wanted)
        mutation = gql.gql('mutation { rename(title: "Online") { title } }')
        self.assertEqual(self.client.execute(mutation), {"rename": {"title": "Online"}})
        self.assertEqual(self.server.asked[1].split()[0], "mutation")
        wanted["book"]["title"] = "Online"
        self.assertEqual(self.client.execute(query), wanted)
        with self.assertRaises(TransportQueryError):
            self.client.execute(gql.gql("{ book { broken } }"))
        self.server.stop()
        self.assertEqual(self.client.execute(query), wanted)
        self.server.start(self.server.port)


if __name__ == "__main__":
    unittest.main()
