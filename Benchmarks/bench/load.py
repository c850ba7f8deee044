"""The generators of load: h2load where each connection may ask the same, larder-load where each
request is to be about something that no other is about."""

import contextlib
import os
import re
import socket
import statistics
import subprocess
import tempfile
import threading

from servers import Broken

CONNECTIONS = 8


def url_list(folder, name, targets):
    """A file of URLs for h2load, which takes only the targets from it; its path."""
    path = os.path.join(folder, name + ".urls")
    with open(path, "w") as file:
        file.writelines(f"http://bench{target}\n" for target in targets)
    return path


def h2load(server, urls, requests, connections=CONNECTIONS, put=None, post=None, tcp=None, log=None,
           fields=()):
    """Starts h2load: `put` and `post` name the file of a body, `log` a file for the times."""
    base = f"unix:{server.socket}" if tcp is None else f"http://127.0.0.1:{tcp}"
    arguments = ["h2load", "--h1", f"--requests={requests}", f"--clients={connections}",
                 "--threads=1", f"--base-uri={base}", f"--input-file={urls}",
                 *(f"--header={field}" for field in fields)]
    if put:
        arguments += [f"--data={put}", "--header=:method: PUT"]
    if post:
        arguments += [f"--data={post}", "--header=Content-Type: application/json"]
    if log:
        arguments.append(f"--log-file={log}")
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def seconds_of(process, requests):
    """How long h2load took; None unless each request was answered 2xx."""
    said = process.communicate()[0]
    if f"status codes: {requests} 2xx, 0 3xx, 0 4xx, 0 5xx" not in said:
        return None
    time, unit = re.search(r"^finished in ([0-9.]+)(us|ms|s|m)", said, re.MULTILINE).groups()
    return float(time) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[unit]


def rate(server, urls, requests, **options):
    """The requests a second; None when one was not answered 2xx."""
    seconds = seconds_of(h2load(server, urls, requests, **options), requests)
    return seconds and requests / seconds


def rate_apart(server, lists, requests, **options):
    """The same with a list of its own for each connection."""
    each = requests // len(lists)
    begun = [h2load(server, urls, each, connections=1, **options) for urls in lists]
    seconds = [seconds_of(process, each) for process in begun]
    return None if None in seconds else each * len(lists) / max(seconds)


def times(server, urls, requests, **options):
    """The time that each request took, in microseconds and in order of their size."""
    with tempfile.NamedTemporaryFile(dir=server.folder) as log:
        # h2load makes the file itself.
        process = h2load(server, urls, requests, log=log.name + "-h2load", **options)
        if seconds_of(process, requests) is None:
            return None
        with open(log.name + "-h2load") as lines:
            found = sorted(int(line.split("\t")[2]) for line in lines)
        os.unlink(log.name + "-h2load")
    return found


def median_time(*arguments, **options):
    found = times(*arguments, **options)
    return found and statistics.median(found)


def high_time(*arguments, **options):
    """The 99th percentile."""
    found = times(*arguments, **options)
    return found and found[len(found) * 99 // 100]


def redis_rate(server, clients, requests, value_bytes):
    """SETs a second of keys at random."""
    said = subprocess.run(
        ["redis-benchmark", "-s", server.socket, "-t", "set", "-n", str(requests), "-c", str(clients),
         "-d", str(value_bytes), "-r", "100000", "--csv"],
        capture_output=True, text=True, check=True).stdout
    return float(said.splitlines()[-1].split(",")[1].strip('"'))


@contextlib.contextmanager
def reading_slowly(server, target, bytes_a_second):
    """A client that reads a large answer no faster than that, from its start on."""
    is_over = threading.Event()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server.socket)
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())

        def read():
            while not is_over.wait(65536 / bytes_a_second) and connection.recv(65536):
                pass

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
        finally:
            is_over.set()
            reader.join()


class Numbered:
    """larder-load: requests in which {n} is another number each."""

    def __init__(self, programs):
        self.program = os.path.join(programs, "larder-load")

    def start(self, server, connections, first, requests, path, **options):
        arguments = [self.program, "--socket", server.socket, "--connections", str(connections),
                     "--first", str(first), "--requests", str(requests), "--path", path]
        for name, value in options.items():
            for one in value if isinstance(value, list) else [value]:
                arguments += ["--" + name, str(one)]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def rate(self, *arguments, **options):
        process = self.start(*arguments, **options)
        said, complaint = process.communicate()
        if process.returncode != 0:
            raise Broken(f"larder-load: {complaint.strip()}")
        return float(said.split()[0])
