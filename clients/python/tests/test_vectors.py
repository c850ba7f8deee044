"""Each vector of clients/vectors with both clients (S30a)."""

import asyncio
import json
import tempfile
import threading
import unittest
from pathlib import Path

from support import VECTORS, ScriptedServer

import larder

ARGUMENTS = {"prefixes": "prefix"}


def matches(wanted, got):
    """Whether `got` has at least what `wanted` has."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return all(name in got and matches(value, got[name]) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(got, (list, tuple)):
        return len(wanted) == len(got) and all(map(matches, wanted, got))
    return wanted == got and type(wanted) is type(got)


def described(item, wanted):
    """An item of a stream as vectors have it."""
    if isinstance(item, larder.Reset):
        return {"type": "reset"}
    if isinstance(item, larder.Entry):
        members = {**vars(item), "view": "snapshot", "text": item.text}
        if (item.media_type or "").endswith("json"):
            members["body"] = item.json()
        pairs = [
            {"pointer": rows["pointer"], "pairs": [[row, mark._asdict()] for row, mark in item.rows(rows["pointer"])]}
            for rows in wanted.get("rows", [])
        ]
        return {**members, "rows": pairs}
    if isinstance(item, larder.Failure):
        return {"view": "failure", "problem": problem_members(item.problem)}
    if "view" not in wanted:
        return item.frame
    return {"view": type(item).__name__.lower(), **item.frame}


def problem_members(problem):
    return {**problem.members, **{name: value for name, value in vars(problem).items() if value is not None}}


def result_members(result):
    members = {**getattr(result, "_asdict", lambda: vars(result))()}
    if isinstance(result, larder.Entry):
        members["body"] = result.json()
    if isinstance(result, (larder.Write, larder.AsyncWrite)):
        members.update(id=result.id, answer=result.answer)
    return members


class Expectation:
    """The items that a stream must deliver."""

    def __init__(self, test, items):
        self.test, self.items = test, list(items)

    def took(self, item):
        while self.items:
            wanted = {name: value for name, value in self.items[0].items() if name != "optional"}
            is_optional = self.items.pop(0).get("optional")
            got = described(item, wanted)
            if matches(wanted, got):
                return
            if not is_optional:
                self.test.fail(f"delivered {got}\nexpected {wanted}")
        self.test.fail(f"delivered {item} after the last item")

    @property
    def is_over(self):
        return not any(not item.get("optional") for item in self.items)


class VectorTests(unittest.TestCase):
    maxDiff = None

    def finish(self, server, vector, problem):
        report = server.report()
        self.assertEqual(report["mismatches"], [])
        self.assertEqual(report["served"], report["expected"])
        if "raises" in vector:
            self.assertIsNotNone(problem, "nothing was raised")
            self.assertTrue(matches(vector["raises"], problem_members(problem)), problem_members(problem))
        elif problem:
            raise problem

    def blocking(self, file):
        vector = json.loads(file.read_text())
        server = ScriptedServer(file)
        problem = None
        with larder.Client(server.socket) as client:
            try:
                self.call(client, vector, server)
            except larder.Problem as error:
                problem = error
        self.finish(server, vector, problem)

    def call(self, client, vector, server):
        method, arguments = vector["call"]["method"], dict(vector["call"]["arguments"])
        arguments = {ARGUMENTS.get(name, name): value for name, value in arguments.items()}
        if method in ("watch", "fetch", "follow"):
            expected = Expectation(self, vector["delivers"])
            if method != "watch":
                arguments = {"url": arguments.pop("url"), **arguments}
            for item in getattr(client, method)(**arguments):
                expected.took(item)
                if expected.is_over and not (vector.get("ends") or "raises" in vector):
                    return
            self.assertTrue(expected.is_over, f"missing: {expected.items}")
        elif method == "provide_credential":
            credential = larder.Credential(**arguments["credential"])
            called = threading.Event()
            client.provide_credential(arguments["origin"], lambda reason: called.set() or credential)
            served(server, vector)
            self.assertTrue(called.is_set())
        elif method == "save":
            with tempfile.TemporaryDirectory() as folder:
                size = client.save(arguments["url"], f"{folder}/file")
                self.saved(vector, size, Path(folder))
        else:
            wait = arguments.pop("wait", None)
            if method == "put":
                arguments["content"] = arguments.pop("text")
            result = getattr(client, method.partition("_")[0])(**arguments)
            if wait:
                self.assertTrue(result.wait(wait))
            self.assertTrue(matches(vector["returns"], result_members(result)), result_members(result))

    def saved(self, vector, size, folder):
        text = (folder / "file").read_text()
        self.assertTrue(matches(vector["returns"], {"size": size, "text": text}), (size, text))
        self.assertEqual([file.name for file in folder.iterdir()], ["file"])

    def awaited(self, file):
        vector = json.loads(file.read_text())
        server = ScriptedServer(file)

        async def main():
            async with larder.AsyncClient(server.socket) as client:
                try:
                    await asyncio.wait_for(self.acall(client, vector, server), 60)
                except larder.Problem as error:
                    return error

        self.finish(server, vector, asyncio.run(main()))

    async def acall(self, client, vector, server):
        method, arguments = vector["call"]["method"], dict(vector["call"]["arguments"])
        arguments = {ARGUMENTS.get(name, name): value for name, value in arguments.items()}
        if method in ("watch", "fetch", "follow"):
            expected = Expectation(self, vector["delivers"])
            async for item in getattr(client, method)(**arguments):
                expected.took(item)
                if expected.is_over and not (vector.get("ends") or "raises" in vector):
                    return
            self.assertTrue(expected.is_over, f"missing: {expected.items}")
        elif method == "provide_credential":
            credential, called = larder.Credential(**arguments["credential"]), []

            async def renew(reason):
                called.append(reason)
                return credential

            await client.provide_credential(arguments["origin"], renew)
            await asyncio.get_running_loop().run_in_executor(None, served, server, vector)
            self.assertEqual(len(called), 1)
        elif method == "save":
            with tempfile.TemporaryDirectory() as folder:
                size = await client.save(arguments["url"], f"{folder}/file")
                self.saved(vector, size, Path(folder))
        else:
            wait = arguments.pop("wait", None)
            if method == "put":
                arguments["content"] = arguments.pop("text")
            result = await getattr(client, method.partition("_")[0])(**arguments)
            if wait:
                self.assertTrue(await result.wait(wait))
            self.assertTrue(matches(vector["returns"], result_members(result)), result_members(result))


def served(server, vector):
    """Waits until the server has served all exchanges; it says so on a line."""
    for _ in vector["exchanges"]:
        assert server.process.stdout.readline().startswith("served")


def add(file):
    name = file.stem.replace("-", "_")
    setattr(VectorTests, f"test_blocking_{name}", lambda self: self.blocking(file))
    setattr(VectorTests, f"test_asyncio_{name}", lambda self: self.awaited(file))


for vector_file in sorted([*VECTORS.glob("*.json"), *VECTORS.glob("python-node/*.json")]):
    add(vector_file)

if __name__ == "__main__":
    unittest.main()
