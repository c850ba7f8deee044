"""An origin with a list of to-dos, for todo.sh.

usage: todo-origin.py PORT TOKEN-FILE LOG

GET /todos is the list; GET, PATCH and DELETE /todos/ID are one to-do, with ETag and If-Match; POST
/todos creates one. Each request needs the token that TOKEN-FILE holds now. A title with `forbidden`
is refused with 422. A key that was used before gets the same answer again. LOG gets a line for each
write that was applied.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

port, token_file, log = int(sys.argv[1]), sys.argv[2], open(sys.argv[3], "a", buffering=1)
todos, versions, answers, lock = {}, {}, {}, Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value=None, **headers):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except BrokenPipeError:
            self.close_connection = True

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with open(token_file) as file:
            if self.headers.get("Authorization") != "Bearer " + file.read().strip():
                return self.reply(401, {"title": "log in"})
        with lock:
            key = self.headers.get("Idempotency-Key")
            if key and key in answers:
                return self.reply(*answers[key][0], **answers[key][1])
            result = self.act(json.loads(body) if body else {})
            if self.command != "GET" and result[0] < 300:
                print(self.command, self.path, body.decode(), file=log)
                answers[key] = result[:2], result[2]
            self.reply(*result[:2], **result[2])

    def act(self, value):
        if "forbidden" in value.get("title", ""):
            return 422, {"title": "not this title"}, {}
        if self.path == "/todos":
            if self.command == "POST":
                name = str(len(versions) + 1)
                versions[name], todos[name] = 1, {"type": "Todo", "id": name, **value}
                return 201, todos[name], {"Location": "/todos/" + name}
            return 200, {"items": list(todos.values())}, {}
        name = self.path.rpartition("/")[2]
        if name not in todos:
            return 404, {"title": "no such to-do"}, {}
        etag = f'"v{versions[name]}"'
        if self.command != "GET" and self.headers.get("If-Match", etag) != etag:
            return 412, {"title": "changed meanwhile"}, {}
        if self.command == "DELETE":
            del todos[name]
            return 204, None, {}
        if self.command == "PATCH":
            todos[name].update(value)
            versions[name] += 1
        return 200, todos[name], {"ETag": f'"v{versions[name]}"'}

    do_GET = do_POST = do_PATCH = do_DELETE = answer


ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
