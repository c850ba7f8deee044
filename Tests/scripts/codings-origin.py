"""An origin that compresses, for codings.sh.

usage: codings-origin.py PORT LOG

/br and /zstd have the same bytes in these codings, /broken is damaged unless plain bytes are asked
for, and /bomb expands to 64 MiB. /doc is a JSON document whose ETag is weak where it is compressed,
as nginx makes it; PATCH of it needs If-Match with the strong one. LOG gets a line for each request.
"""

import gzip
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, log = int(sys.argv[1]), open(sys.argv[2], "a", buffering=1)
# {"a":1} by libbrotlienc 1.0.9 and libzstd 1.5.4.
prepared = {
    "br": bytes.fromhex("0b03807b2261223a317d03"),
    "zstd": bytes.fromhex("28b52ffd2007390000") + b'{"a":1}',
}
bomb = gzip.compress(bytes(64 << 20), mtime=0)
document = {"title": "old", "version": 1}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def note(self):
        fields = " ".join(f"{name}={self.headers.get(name, '-')}".replace(", ", ",")
                          for name in ("Accept-Encoding", "If-Match", "If-None-Match"))
        print(self.command, self.path, fields, file=log)

    def do_GET(self):
        self.note()
        is_plain = "gzip" not in self.headers.get("Accept-Encoding", "")
        name = self.path.strip("/")
        if name in prepared:
            self.reply(200, prepared[name], Content_Encoding=name, ETag='"1"',
                       Content_Type="application/json", Vary="Accept-Encoding")
        elif name == "broken":
            coded = {} if is_plain else {"Content_Encoding": "br"}
            self.reply(200, b"plain bytes", ETag='"1"', **coded)
        elif name == "bomb":
            self.reply(200, bomb, Content_Encoding="gzip")
        else:
            body, tag = json.dumps(document).encode(), f'"{document["version"]}"'
            if is_plain:
                self.reply(200, body, ETag=tag, Content_Type="application/json")
            else:
                self.reply(200, gzip.compress(body, mtime=0), ETag=f"W/{tag}",
                           Content_Encoding="gzip", Content_Type="application/json")

    def do_PATCH(self):
        self.note()
        change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("If-Match") != f'"{document["version"]}"':
            return self.reply(412)
        document.update(change, version=document["version"] + 1)
        self.reply(204, ETag=f'"{document["version"]}"')

    # Another device.
    def do_POST(self):
        document.update(title="theirs", version=document["version"] + 1)
        self.reply(204)


ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
