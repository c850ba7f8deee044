"""The servers that are measured: each a process with files of its own below one folder."""

import json
import os
import shutil
import socket
import subprocess
import time


class Broken(Exception):
    """What keeps the bench from measuring, said to whoever runs it."""


def await_true(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Broken(f"this did not come true within {seconds} s: {what}")
        time.sleep(0.005)


def ask(path, method, target, body=None, fields=()):
    """One request to a Unix socket: the status and the body."""
    head = [f"{method} {target} HTTP/1.1", "Host: bench", "Connection: close", *fields]
    if body is not None:
        head.append(f"Content-Length: {len(body)}")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(120)
        connection.connect(path)
        connection.sendall("\r\n".join(head + ["", ""]).encode() + (body or b""))
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        body = unchunked(body)
    return int(answer[9:12]), body


def unchunked(body):
    pieces = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        if (count := int(size or b"0", 16)) == 0:
            return pieces
        pieces += body[:count]
        body = body[count + 2:]


class Server:
    """A process that listens on `socket` once `start` has returned."""

    # What the table calls it, and the program that has to be installed.
    name = program = None

    def __init__(self, folder):
        self.folder = folder
        self.socket = os.path.join(folder, self.name + ".sock")
        self.process = None

    @classmethod
    def is_installed(cls):
        return shutil.which(cls.program) is not None

    def arguments(self):
        raise NotImplementedError

    def is_ready(self):
        try:
            ask(self.socket, "GET", "/")
            return True
        except OSError:
            return False

    def start(self):
        with open(os.path.join(self.folder, self.name + ".log"), "ab") as log:
            self.process = subprocess.Popen(
                self.arguments(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        await_true(f"{self.name} answers (see its log)", self.is_up)
        return self

    def is_up(self):
        if self.process.poll() is not None:
            with open(os.path.join(self.folder, self.name + ".log"), errors="replace") as log:
                raise Broken(f"{self.name} ended: " + "".join(log.readlines()[-3:]).strip())
        return os.path.exists(self.socket) and self.is_ready()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def processor_seconds(self):
        """User and system time of the process so far."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Larder(Server):
    """The daemon, with the origins of `Nginx`.

    `settings` is more of its configuration, by section, and `origin` more of each origin's.
    `account` is the account whose fields or query each request about an origin has, if any."""

    def __init__(self, folder, programs, origin_port, name="larder", settings=None, origin=None,
                 account=None):
        self.name = name
        self.account = account
        self.fields = [f"Larder-Account: {account}"] if account else []
        # The same for reads of entries: larderd has no ready answer to a request with the field.
        self.query = f"?account={account}" if account else ""
        self.program = os.path.join(programs, "larderd")
        super().__init__(folder)
        base = f"http://localhost:{origin_port}"
        origins = {
            path: {"base_url": f"{base}/{path}/", "allow_private": True, **(origin or {})}
            for path in ["documents", "whole", "rebuilt", "ten"]
        }
        self.origins = list(origins)
        self.shared = f"{base}/shared/"
        origins["rebuilt"]["normalize"] = origins["ten"]["normalize"] = {"by_type": True}
        configuration = {
            "sockets": {"api": self.socket},
            "storage": {
                "cache_directory": os.path.join(folder, name + "-cache"),
                "state_directory": os.path.join(folder, name + "-state"),
            },
            "queue": {"max_modifiers": 1_000_000, "max_bytes": "4GiB"},
            "origins": origins,
            **(settings or {}),
        }
        self.configuration = os.path.join(folder, name + ".yaml")
        # JSON is YAML.
        with open(self.configuration, "w") as file:
            json.dump(configuration, file)

    def arguments(self):
        return [self.program, "--config", self.configuration]

    def start(self):
        super().start()
        # By the version's own program: the key of the configuration has changed.
        self.cachectl("origin", "add", "shared", self.shared, "--shared", "--replace")
        return self

    def cachectl(self, *arguments):
        """Runs the `cachectl` that belongs to the daemon."""
        program = os.path.join(os.path.dirname(self.program), "cachectl")
        done = subprocess.run(
            [program, *arguments, "--socket", self.socket], capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"cachectl {' '.join(arguments)}: {done.stderr.strip()}")

    def set_offline(self, is_offline):
        """Sets the origin of the documents offline or online."""
        self.cachectl("origin", "offline" if is_offline else "online", "documents")

    def is_ready(self):
        try:
            return ask(self.socket, "GET", "/v1/status")[0] == 200
        except OSError:
            return False

    def command(self, method, target, body=None):
        """One request that has to be answered 2xx; its JSON."""
        fields = ["Content-Type: application/json"] if body is not None else []
        encoded = None if body is None else json.dumps(body).encode()
        status, answer = ask(self.socket, method, target, encoded, [*self.fields, *fields])
        if not 200 <= status < 300:
            raise Broken(f"{method} {target} was answered {status}: {answer[:300]!r}")
        return json.loads(answer) if answer else None

    def log_in(self):
        """Gives the account, if there is one, a credential at each origin but the shared one."""
        for name in self.origins if self.account else []:
            target = f"/v1/origins/{name}"
            report = self.command("PUT", target + "/credential", {"value": "Bearer bench"})
            self.check((report["account"], report["source"]) == (self.account, "user"),
                       f"the account has no credential at {name}: {report}")
            rules = self.command("GET", target)["settings"]["modifiers"]
            self.check(rules["coalesce"] != "none", f"{name} does not join writes; see --origin")

    def check_read(self, target):
        """Broken if the row is not the account's alone."""
        if self.account:
            self.command("GET", target)
            status = ask(self.socket, "GET", target)[0]
            self.check(status == 404, f"{target} without the account was answered {status}")

    def check_writes(self, count):
        """Broken unless so many writes to the documents wait under the account's credential."""
        if self.account:
            report = self.command("GET", "/v1/origins/documents/credential")
            self.check(report["waiting"] == count, f"not {count} writes wait: {report}")

    def check(self, is_met, complaint):
        if not is_met:
            raise Broken(f"--accounts is not measured by {self.name}: {complaint}")

    def proc(self, file):
        """The numbers of a file of /proc/PID such as `status`, by their names."""
        with open(f"/proc/{self.process.pid}/{file}") as lines:
            pairs = (line.split(":", 1) for line in lines if ":" in line)
            return {name: value.split() for name, value in pairs}

    def voluntary_switches(self):
        """How often each thread has waited so far."""
        return {
            task: int(self.proc(f"task/{task}/status")["voluntary_ctxt_switches"][0])
            for task in os.listdir(f"/proc/{self.process.pid}/task")
        }


class Nginx(Server):
    """One worker: a cache on disk before a server of its own, PUT into files, and the origin."""

    name = program = "nginx"

    def __init__(self, folder, body, document):
        super().__init__(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.files = os.path.join(folder, "nginx")
        self.origin = os.path.join(folder, "nginx-origin.sock")
        for part in ["www/entries", "put", "lists"]:
            os.makedirs(os.path.join(self.files, part))
        with open(os.path.join(self.files, "nginx.conf"), "w") as file:
            file.write(self.text(body, document))

    def text(self, body, document):
        places = " ".join(
            f"{kind}_temp_path tmp-{kind};" for kind in ["proxy", "fastcgi", "uwsgi", "scgi"])
        documents = " ".join(
            f"""location /{origin}/ {{
                if ($request_method = PATCH) {{ return 204; }}
                return 200 '{document}';
            }}""" for origin in ["documents", "shared"])
        lists = " ".join(
            f"location /{origin}/ {{ alias lists/{count}/; }}"
            for origin, count in [("whole", 20), ("rebuilt", 20), ("ten", 10)])
        return f"""
            {"user root;" if os.geteuid() == 0 else ""}
            daemon off;
            worker_processes 1;
            pid nginx.pid;
            events {{ worker_connections 1024; }}
            http {{
                client_body_temp_path put-body; {places}
                access_log off;
                sendfile on;
                keepalive_requests 1000000000;
                default_type application/json;
                proxy_cache_path cache levels=1:2 keys_zone=bench:200m max_size=32g inactive=1d;
                server {{
                    listen unix:{self.origin};
                    location / {{ return 200 '{body}'; }}
                }}
                server {{
                    listen 127.0.0.1:{self.port};
                    {documents} {lists}
                }}
                server {{
                    listen unix:{self.socket};
                    location /v1/entries/ {{
                        proxy_pass http://unix:{self.origin};
                        proxy_cache bench;
                        proxy_cache_valid 200 1d;
                    }}
                    location /put/ {{ root .; dav_methods PUT; }}
                }}
            }}
            """

    def arguments(self):
        return ["nginx", "-p", self.files, "-e", os.path.join(self.folder, "nginx.log"),
                "-c", "nginx.conf"]

    def is_ready(self):
        return super().is_ready() and os.path.exists(self.origin)


class Varnish(Server):
    """Two pools of threads, as it comes; its cache in memory before nginx's server."""

    name, program = "varnish", "varnishd"

    def __init__(self, folder, nginx):
        super().__init__(folder)
        self.language = os.path.join(folder, "varnish.vcl")
        with open(self.language, "w") as file:
            file.write(f"""
                vcl 4.1;
                backend default {{ .path = "{nginx.origin}"; }}
                sub vcl_backend_response {{ set beresp.ttl = 1d; }}
                """)

    def arguments(self):
        return ["varnishd", "-F", "-j", "none", "-n", os.path.join(self.folder, "varnish"),
                "-a", self.socket + ",HTTP", "-f", self.language, "-s", "malloc,256m"]


class Loop(Server):
    """A loop over epoll with one answer for everything, in C."""

    name, program = "epoll", "cc"

    def __init__(self, folder, body):
        super().__init__(folder)
        self.built = os.path.join(folder, "epoll")
        self.body = body
        source = os.path.join(os.path.dirname(__file__), "epoll.c")
        subprocess.run(["cc", "-O2", "-o", self.built, source], check=True)

    def arguments(self):
        return [self.built, self.socket, str(len(self.body))]

    def is_ready(self):
        # It closes no connection, so there would be no end to wait for.
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(self.socket) == 0


class Redis(Server):
    """With its log synced before each answer, and nothing else on the disk."""

    name, program = "redis", "redis-server"

    def arguments(self):
        return ["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.folder,
                "--save", "", "--appendonly", "yes", "--appendfsync", "always"]

    def is_ready(self):
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(self.socket) == 0
