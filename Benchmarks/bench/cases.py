"""The cases, each a function that yields figures; T1 to T13 are the project's targets."""

import contextlib
import functools
import json
import os
import random
import re
import socket
import time

import load
from figures import Aim, Figure
from rig import IDS
from servers import Broken, Larder, ask

ALL_IDS = load.CONNECTIONS * IDS


# -- hits

def three_figures(rig, name, ways, aims, targets):
    """Requests a second, the median of one connection and the 99th percentile of eight.

    Ways are pairs of a server and its list of URLs, and what goes on meanwhile as a third."""
    measures = [
        (targets[0], name, "/s", lambda on, urls: load.rate(on, urls, 100_000)),
        (targets[1], name + ", 1 connection, median", "us",
         lambda on, urls: load.median_time(on, urls, 10_000, connections=1)),
        (targets[2], name + ", p99", "us", lambda on, urls: load.high_time(on, urls, 100_000))]

    def measured(measure, on, urls, meanwhile=contextlib.nullcontext):
        with meanwhile():
            return measure(on, urls)

    for (target, title, unit, measure), aim in zip(measures, aims):
        yield rig.compare(
            target, title, unit,
            {way: functools.partial(measured, measure, *what) for way, what in ways.items()}, aim,
            requests=(ways["larder"][0], 100_000) if unit == "/s" else None)


def fetched(rig, daemon, kind, origin, names=range(IDS)):
    """A list of answers of an origin, each of which the daemon has fetched."""
    asked = rig.urls(kind + "-fetch", (f"/o/{origin}/{name}" for name in names))
    if load.rate(daemon, asked, IDS, connections=1, fields=daemon.fields) is None:
        raise Broken(f"what is {kind} could not be fetched; see {daemon.name}.log")
    if origin != "shared":
        daemon.check_read(rig.entry(origin, names[0]))
    # One build may read with an account, and the other without.
    return rig.urls(f"{daemon.name}-{kind}",
                    (rig.entry(origin, name) + daemon.query for name in names))


def hit(rig):
    """T1, T2, T4: an entry of 1 KiB that is cached; with --accounts, an answer of an origin."""
    urls = rig.urls("hit", (f"/v1/entries/bench-{number}" for number in range(IDS)))
    with rig.daemons("hit") as daemons:
        ways = {name: (server, urls) for name, server in {**daemons, **rig.others}.items()}
        for name, daemon in daemons.items():
            if rig.accounts:
                ways[name] = daemon, fetched(rig, daemon, "account", "documents")
            else:
                load.rate(daemon, urls, ALL_IDS, put=rig.body_file)
        for server, targets in ways.values():
            load.rate(server, targets, ALL_IDS)
        yield from three_figures(
            rig, "hit", ways,
            ([Aim(1.4, "nginx"), Aim(2.0, "varnish"), Aim(1.3, "epoll")], [Aim(0.8, "nginx")],
             [Aim(0.5, "varnish")]),
            ["T1", "T2", "T4"])


def kinds(rig):
    """T1, T2, T4 again: what is more than a whole entry, beside what is not, of the same daemon."""
    with rig.daemon("kinds") as daemon:
        make_lists(rig, 10)
        lists = {}
        for number, (kind, origin) in enumerate([
                ("whole", "documents"), ("pending", "documents"), ("pinned", "documents"),
                ("shared", "shared"), ("rebuilt", "ten")]):
            names = range(number * IDS, (number + 1) * IDS)
            lists[kind] = fetched(rig, daemon, kind, origin, names)
            if kind == "pinned":
                for name in names:
                    entry = rig.entry(origin, name).removeprefix("/v1/entries/")
                    daemon.command("PUT", "/v1/pins/" + entry)
        daemon.set_offline(True)
        for name in range(IDS, 2 * IDS, 100):
            daemon.command("POST", "/v1/modifiers", rig.merge(rig.url("documents", name)))
        # Whole entries, with those who watch them.
        for urls in lists.values():
            load.rate(daemon, urls, ALL_IDS)
        ways = {kind: (daemon, urls) for kind, urls in lists.items()}
        ways["watched"] = (*ways["whole"], lambda: watching(daemon, rig, 200))
        large = bytes(50 << 20)
        if ask(daemon.socket, "PUT", "/v1/entries/large", large)[0] != 201:
            raise Broken("50 MiB could not be put")
        ways["slow reader"] = (
            *ways["whole"], lambda: load.reading_slowly(daemon, "/v1/entries/large", 1 << 20))
        for kind in [kind for kind in ways if kind != "whole"]:
            yield from three_figures(
                rig, f"hit, {kind}", {"larder": ways[kind], "whole": ways["whole"]},
                ([Aim(0.9, "whole")], [Aim(1.1, "whole")], [Aim(1.1, "whole")]), ["T1", "T2", "T4"])


@contextlib.contextmanager
def watching(daemon, rig, count):
    """Connections that watch 50 of the whole entries each."""
    fields = "".join(field + "\r\n" for field in daemon.fields)
    with contextlib.ExitStack() as watchers:
        for number in range(count):
            ids = "&".join("id=" + rig.entry("documents", name % IDS).removeprefix("/v1/entries/")
                           for name in range(number * 50, number * 50 + 50))
            watcher = watchers.enter_context(socket.socket(socket.AF_UNIX))
            watcher.connect(daemon.socket)
            watcher.sendall(f"GET /v1/watch?{ids} HTTP/1.1\r\nHost: bench\r\n{fields}\r\n".encode())
            if b" 200 " not in watcher.recv(4096):
                raise Broken("a watch was refused")
        yield


def make_lists(rig, count):
    """Answers of the origin: lists of so many out of 1,000 users."""
    text = "Writes about things that many people know, and some that nobody does."
    folder = os.path.join(rig.nginx.files, "lists", str(count))
    os.makedirs(folder, exist_ok=True)
    for number in range(IDS * 5):
        users = ((number * 7 + place * 13) % 1000 for place in range(count))
        objects = (f'{{"type":"User","id":{user},"text":"{text}"}}' for user in users)
        with open(os.path.join(folder, str(number)), "w") as file:
            file.write("[" + ",".join(objects) + "]")


def million(rig):
    """T3, T11: a million entries, of which each connection asks for others; and a start with them."""
    count, settings = 1_000_000, {"cache": {"max_bytes": "4GiB"}}
    with rig.daemons("million", settings) as daemons:
        for daemon in daemons.values():
            rig.numbered.rate(daemon, load.CONNECTIONS, 0, count, "/v1/entries/bench-{n}", method="PUT",
                              body=rig.body.decode(), expect=201)
        load.rate_apart(rig.nginx, apart(rig, "all", lambda number: range(
            number * count // load.CONNECTIONS, (number + 1) * count // load.CONNECTIONS)), count)
        chance = random.Random(1)
        lists = apart(rig, "chosen", lambda _: chance.choices(range(count), k=20_000))
        servers = {**daemons, "nginx": rig.nginx}
        yield rig.compare(
            "T3", "hit of a million", "/s",
            {name: lambda on=on: load.rate_apart(on, lists, 160_000) for name, on in servers.items()},
            [Aim(0.9, "nginx")], requests=(daemons["larder"], 160_000))
        memory = Figure("T11", "memory after it", "MiB", aims=[Aim(50)])

        def start(name):
            daemons[name].stop()
            begun = time.monotonic()
            daemons[name].start()
            taken = time.monotonic() - begun
            memory.add(name, int(daemons[name].proc("status")["VmRSS"][0]) / 1024)
            return taken * 1e3

        yield rig.compare("T11", "start with a million", "ms",
                          {name: lambda name=name: start(name) for name in daemons}, [Aim(100)])
        yield memory


def apart(rig, name, numbers):
    """A list of entries for each connection."""
    return [rig.urls(f"{name}-{one}", (f"/v1/entries/bench-{n}" for n in numbers(one)))
            for one in range(load.CONNECTIONS)]


# -- puts

def put(rig):
    """T5, T6: a blob of 1 KiB, answered after the commit; and where each has others evicted."""
    count, folder = 10_000, os.path.join(rig.folder, "diskcache")
    with rig.daemons("put", {"cache": {"max_bytes": "64MiB"}}) as daemons:
        urls = rig.urls("put", (f"/v1/entries/bench-{number}" for number in range(IDS)))
        ways = {name: lambda on=on: load.rate(on, urls, count, put=rig.body_file)
                for name, on in daemons.items()}
        puts = rig.urls("put-nginx", (f"/put/bench-{number}" for number in range(IDS)))
        ways["nginx"] = lambda: load.rate(rig.nginx, puts, count, put=rig.body_file)
        if rig.has_python("diskcache"):
            ways["diskcache"] = lambda: float(rig.python("diskcache_set.py", folder, count))
        yield rig.compare("T5", "put", "/s", ways, [Aim(2.0, "diskcache")],
                          requests=(daemons["larder"], count))

        def evicting(daemon):
            first = rig.numbers(count)
            lists = apart(rig, "new", lambda one: range(first + one, first + count, load.CONNECTIONS))
            return load.rate_apart(daemon, lists, count, put=rig.body_file)

        for daemon in daemons.values():
            for _ in range(7):
                evicting(daemon)
        ways = {name: lambda on=on: evicting(on) for name, on in daemons.items()}
        ways["put"] = lambda: load.rate(daemons["larder"], urls, count, put=rig.body_file)
        yield rig.compare("T6", "put into a full cache", "/s", ways, [Aim(0.5, "put")],
                          requests=(daemons["larder"], count))


# -- the queue

def accepts(rig, daemon, clients, count):
    """Modifiers for targets of their own, whose bases are cached, while nothing can be sent."""
    first = rig.numbers(count)
    daemon.set_offline(False)
    rig.numbered.rate(daemon, load.CONNECTIONS, first, count, "/o/documents/{n}",
                      header=daemon.fields)
    daemon.set_offline(True)
    rate = rig.numbered.rate(daemon, clients, first, count, "/v1/modifiers",
                             **as_modifier(rig, daemon))
    daemon.check_writes(count)
    return rate


def as_modifier(rig, daemon):
    body = json.dumps(rig.merge(rig.url("documents", "{n}")))
    return {"method": "POST", "body": body, "expect": 202,
            "header": ["Content-Type: application/json", *daemon.fields]}


def drained(daemon):
    """Sends what waits; the seconds that it took."""
    begun = time.monotonic()
    daemon.set_offline(False)
    while daemon.command("GET", "/v1/modifiers?state=unsettled&limit=1&wait=30s")["items"]:
        if time.monotonic() - begun > 300:
            raise Broken("what was accepted is not sent within 300 s")
    return time.monotonic() - begun


def accept(rig):
    """T7: a modifier of a target with a base of 1 KiB, answered when it is synced, by one client and by
    64, against appending 4 KiB and fdatasync, which one alone can do, and beside a redis that syncs."""
    with rig.daemons("accept") as daemons:

        def append():
            count, path = 2_000, os.path.join(rig.folder, "appended")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            begun = time.monotonic()
            for _ in range(count):
                os.write(descriptor, bytes(4096))
                os.fdatasync(descriptor)
            os.close(descriptor)
            return count / (time.monotonic() - begun)

        def accepted(daemon, clients, count):
            figure = accepts(rig, daemon, clients, count)
            drained(daemon)
            return figure

        for clients, count, aim in [(1, 2_000, 0.65), (64, 20_000, 3.0)]:
            ways = {name: lambda on=on: accepted(on, clients, count) for name, on in daemons.items()}
            ways["fdatasync"] = append
            if rig.redis:
                ways["redis"] = lambda: load.redis_rate(rig.redis, clients, count, 4096)
            yield rig.compare("T7", f"accept, {counted(clients, 'client')}", "/s", ways,
                              [Aim(aim, "fdatasync")])


def counted(count, noun):
    return f"{count} {noun}{'s' if count != 1 else ''}"


def drain(rig):
    """T8: sending 10,000 modifiers, each in a lane of its own, to an nginx that takes them."""
    count = 10_000
    with rig.daemons("drain") as daemons:

        def sent(daemon):
            accepts(rig, daemon, load.CONNECTIONS, count)
            return count / drained(daemon)

        yield rig.compare("T8", "drain", "/s",
                          {name: lambda on=on: sent(on) for name, on in daemons.items()}, [Aim(3_000)])


def put_beside(rig):
    """A put while 16 clients have modifiers accepted, against the same alone."""
    with rig.daemons("beside") as daemons:
        urls = rig.urls("put", (f"/v1/entries/bench-{number}" for number in range(IDS)))
        for daemon in daemons.values():
            daemon.set_offline(True)

        def beside(daemon):
            writers = rig.numbered.start(daemon, 16, rig.numbers(100_000), 100_000, "/v1/modifiers",
                                         **as_modifier(rig, daemon))
            rate = load.rate(daemon, urls, 10_000, put=rig.body_file)
            if writers.poll() is not None:
                raise Broken("the modifiers that were to be accepted meanwhile came to their end")
            writers.kill()
            writers.communicate()
            return rate

        ways = {name: lambda on=on: beside(on) for name, on in daemons.items()}
        ways["alone"] = lambda: load.rate(daemons["larder"], urls, 10_000, put=rig.body_file)
        yield rig.compare("", "put with 16 accepting", "/s", ways)


# -- normalized answers

def rebuilt(rig):
    """An answer of 2 KiB that is put together of 20 entities, against the same kept whole."""
    with rig.daemons("rebuilt") as daemons:
        make_lists(rig, 20)
        lists = {}
        for origin in ["rebuilt", "whole"]:
            for name, daemon in daemons.items():
                lists[name, origin] = fetched(rig, daemon, origin, origin)
                load.rate(daemon, lists[name, origin], ALL_IDS)
        ways = {name: lambda on=on, urls=lists[name, "rebuilt"]: load.rate(on, urls, 50_000)
                for name, on in daemons.items()}
        ways["whole"] = lambda: load.rate(daemons["larder"], lists["larder", "whole"], 50_000)
        yield rig.compare("", "rebuilt of 20 entities", "/s", ways, [Aim(0.9, "whole")],
                          requests=(daemons["larder"], 50_000))


def feed(rig):
    """T9, T10: a feed of 1 MB with 1,000 entities, each author once and 20 times: processor time
    against Python's orjson reading and writing it, and what is stored against its bytes."""
    said = rig.run(os.path.join(rig.programs["larder"], "larder-normalize"), str(9 * rig.rounds),
                   env=dict(os.environ, PYTHONPATH=rig.python_path))
    aims = {"splitting": 1.0, "splitting and storing into a store that has it": 8.0,
            "rebuilding from the store": 2.0}
    for part, place, bound in zip(said.split("feed of")[1:], ["", ", authors 20 times"], [1.05, 0.9]):
        peer, time = re.search(r"(\S+) loads \+ dumps: ([0-9.]+) ms", part).groups()
        for name, aim in aims.items():
            own = re.search(rf"^  {name}: ([0-9.]+) ms", part, re.MULTILINE)[1]
            figure = Figure("T9", name + place, "ms", aims=[Aim(aim, "orjson")])
            figure.add("larder", float(own))
            figure.add(peer, float(time))
            yield figure
        size = Figure("T10", "stored" + place, "x", aims=[Aim(bound)])
        size.add("larder", float(re.search(r"bytes, ([0-9.]+) x", part)[1]))
        yield size


# -- the rest

def reports(rig):
    """Answers of many members: a page of 1,000 entries, the status, a batch of 100; one connection."""
    with rig.daemons("reports") as daemons:
        names = [f"bench-{number}" for number in range(1_000)]
        entries = rig.urls("reports", (f"/v1/entries/{name}" for name in names))
        for daemon in daemons.values():
            load.rate(daemon, entries, 1_000, connections=1, put=rig.body_file)

        batch = os.path.join(rig.folder, "batch.json")
        with open(batch, "w") as file:
            json.dump({"ids": names[:100]}, file)
        for name, path, count, body in [
                ("page of 1,000", "/v1/entries?limit=1000", 200, None),
                ("status", "/v1/status", 5_000, None),
                ("batch of 100", "/v1/entries/batch", 500, batch)]:
            urls = rig.urls(name.replace(" ", "-"), [path])
            ways = {way: functools.partial(load.rate, on, urls, count, connections=1, post=body)
                    for way, on in daemons.items()}
            yield rig.compare("", name, "/s", ways)


def miss(rig):
    """T12: a request that is not cached, through the daemon and without it."""
    with rig.daemons("miss") as daemons:

        def through(daemon):
            first = rig.numbers(IDS)
            urls = rig.urls("miss", (f"/o/documents/{n}" for n in range(first, first + IDS)))
            return load.median_time(daemon, urls, IDS, connections=1, fields=daemon.fields)

        ways = {name: lambda on=on: through(on) for name, on in daemons.items()}
        urls = rig.urls("direct", (f"/documents/{number}" for number in range(IDS)))
        ways["direct"] = lambda: load.median_time(
            rig.nginx, urls, IDS, connections=1, tcp=rig.nginx.port)
        yield rig.compare("T12", "miss, median", "us", ways, [Aim(300, "direct", is_difference=True)],
                          requests=(daemons["larder"], IDS))


def idle(rig):
    """T13: a minute in which nothing is asked of a daemon whose program is stripped."""
    folder = os.path.join(rig.folder, "stripped")
    os.makedirs(folder)
    rig.run("strip", "-o", os.path.join(folder, "larderd"),
            os.path.join(rig.programs["larder"], "larderd"))
    with rig.running(Larder(rig.folder, folder, rig.nginx.port, "idle")) as daemon:
        time.sleep(5)
        before = daemon.voluntary_switches()
        time.sleep(60)
        after = daemon.voluntary_switches()
        # Of threads that have ended meanwhile nobody knows.
        switches = sum(count - before.get(task, 0) for task, count in after.items())
        memory = daemon.proc("status")
    for name, unit, value, aim in [
            ("a minute of idleness", "switches", switches, 15),
            ("resident", "MiB", int(memory["VmRSS"][0]) / 1024, 25),
            ("anonymous", "MiB", int(memory["RssAnon"][0]) / 1024, 6)]:
        figure = Figure("T13", name, unit, aims=[Aim(aim)])
        figure.add("larder", value)
        yield figure


CASES = {"hit": hit, "kinds": kinds, "million": million, "put": put, "put-beside": put_beside,
         "accept": accept, "drain": drain, "rebuilt": rebuilt, "feed": feed,
         "reports": reports, "miss": miss, "idle": idle}
