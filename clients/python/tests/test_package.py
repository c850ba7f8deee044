"""The package itself: generated types, operations of the document, lines (S19, S28, S29)."""

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
import unittest
from pathlib import Path

from support import ROOT

import larder
from larder._clients import run

PACKAGE = ROOT / "clients" / "python"
# Lines of code of all files but the generated one, as the Node client's test counts them.
LINES_MAX = 1_500
ADMINISTRATION = "administration is the task of cachectl"
NOT_USED = {
    "readBatch": "get reads one entry; a batch has no method yet",
    "explainEntry": ADMINISTRATION,
    "listLanes": ADMINISTRATION,
    "setLane": ADMINISTRATION,
    "listOrigins": ADMINISTRATION,
    "checkOrigin": ADMINISTRATION,
    "removeCredential": "logging out is cachectl origin logout",
    "showOrigin": ADMINISTRATION,
    "changeOrigin": ADMINISTRATION,
    "putOrigin": ADMINISTRATION,
    "removeOrigin": ADMINISTRATION,
    "evict": ADMINISTRATION,
    "stats": ADMINISTRATION,
    "usage": ADMINISTRATION,
    "check": ADMINISTRATION,
    "reload": ADMINISTRATION,
    "purge": ADMINISTRATION,
    "health": "status tells more",
    "version": "status has it",
    "document": "the wire types are generated from it",
    "fetchByQuery": "the client sends the command as a body",
    "watchByQuery": "the client sends the command as a body",
    "removeModifier": "drop is an action",
    "raw": "the adapters send the URL as the target",
    "rawPost": "the adapters send the URL as the target",
    "rawPut": "the adapters send the URL as the target",
    "rawPatch": "the adapters send the URL as the target",
    "rawDelete": "the adapters send the URL as the target",
    "rawOptions": "the adapters send the URL as the target",
}


class Sent(Exception):
    """A request that was about to be sent."""


class Recording(larder.Client):
    async def request(self, method, path, *_, **__):
        raise Sent(method, path)


def calls(client, url="https://api.example.com/a"):
    """A call of each operation."""
    write = larder.Write(client, {"id": "m1", "state": "queued"})
    return [
        lambda: client.get("notes/1"),
        lambda: client.get(url),
        lambda: client.save(url, Path(tempfile.gettempdir()) / "file"),
        lambda: next(client.follow(url)),
        lambda: next(client.watch()),
        lambda: client.put("notes/1", b""),
        lambda: client.delete("notes/1"),
        client.entries,
        lambda: client.pin(url),
        lambda: client.unpin(url),
        client.pins,
        lambda: client.prefetch("tonight", [url]),
        lambda: client.prefetched("tonight"),
        client.prefetches,
        lambda: client.remove_prefetch("tonight"),
        lambda: client.modify(url, delete=True),
        lambda: client.create(url, {}),
        client.writes,
        client.conflicts,
        lambda: client.credential("api"),
        lambda: client.set_credential("api", larder.Credential("x")),
        lambda: run(client._renew_once("api", print)),
        client.status,
        write.refresh,
        write.cancel,
        lambda: write.edit([]),
    ]


def used_operations(document):
    found = set()
    for call in calls(Recording("/nonexistent")):
        try:
            call()
        except Sent as sent:
            found.add(operation(document, *sent.args))
    return found


def operation(document, method, path):
    for template, operations in document["paths"].items():
        pattern = re.sub(r"\\\{[^/]*\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path) and method.lower() in operations:
            return operations[method.lower()]["operationId"]
    raise AssertionError(f"the document has no {method} {path}")


class PackageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(ROOT / "schema" / "openapi.json", encoding="utf-8") as file:
            cls.document = json.load(file)

    def test_the_wire_types_are_those_of_the_document(self):
        done = subprocess.run([sys.executable, PACKAGE / "generate", "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_each_operation_is_used_or_has_a_reason(self):
        known = {
            one["operationId"]
            for operations in self.document["paths"].values()
            for method, one in operations.items()
            if method not in ("parameters", "head")
        }
        used = used_operations(self.document)
        self.assertEqual(used & set(NOT_USED), set(), "used, and on the list")
        self.assertEqual(known - used - set(NOT_USED), set(), "neither used nor on the list")
        self.assertEqual(set(NOT_USED) - known, set(), "on the list, and not in the document")

    def test_the_package_has_at_most_1500_lines(self):
        files = [file for file in (PACKAGE / "larder").glob("*.py") if file.name != "_wire.py"]
        self.assertLessEqual(sum(map(lines_of_code, files)), LINES_MAX)

    def test_the_package_has_no_syntax_later_than_python_3_9(self):
        for file in (PACKAGE / "larder").glob("*.py"):
            source = file.read_text()
            tree = ast.parse(source, str(file), feature_version=(3, 9))
            if "\nfrom __future__ import annotations\n" in source:
                for node in list(ast.walk(tree)):
                    for name in {"annotation", "returns"} & set(node._fields):
                        setattr(node, name, ast.Constant(None))
            # Types have `|` since Python 3.10; annotations are not evaluated.
            unions = [node.lineno for node in ast.walk(tree) if isinstance(getattr(node, "op", 0), ast.BitOr)]
            self.assertEqual(unions, [], file)

    def test_both_clients_have_the_same_methods(self):
        def names(cls):
            return {name for name in dir(cls) if not name.startswith("_")}

        self.assertEqual(names(larder.Client), names(larder.AsyncClient))

    def test_a_problem_has_the_class_of_its_type_and_a_text_with_the_hint(self):
        for type in larder._wire.PROBLEMS:
            problem = larder.Problem.of({"type": type, "detail": "it failed", "hint": "Do it."})
            self.assertIsNot(type_of(problem), larder.Problem, type)
            self.assertEqual(str(problem), "it failed. Do it.")
        self.assertIs(type_of(larder.Problem.of({"type": "urn:larder:newer", "status": 499})), larder.Problem)
        question = larder.Problem.of({"detail": "did you mean 'a'?", "hint": "Do it."})
        self.assertEqual(str(question), "did you mean 'a'? Do it.")

    def test_each_read_of_a_client_that_is_closed_says_so(self):
        cache = larder.Client("/nowhere")
        cache.close()
        for id in ("http://a/b", "notes/1"):
            with self.assertRaisesRegex(larder.Problem, "^The client is closed$"):
                cache.get(id)

    def test_the_package_is_typed(self):
        self.assertTrue((PACKAGE / "larder" / "py.typed").exists())
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("mypy is not installed")
        program = (
            "import larder\n"
            "entry: larder.Entry = larder.Client().get('a', policy='cache-only')\n"
            "write: larder.Write = larder.Client().modify('a', merge={})\n"
            "for event in larder.Client().watch(prefix='a'):\n"
            "    own: bool = event.own if isinstance(event, larder.Put) else False\n"
            "    state: str = event.state if isinstance(event, larder.Prefetch) else ''\n"
            "query = {'entities': {'origin': 'books', 'type': 'Book'}}\n"
            "held: int = larder.Client().prefetch('tonight', ['https://a/b', query])['held']\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "program.py"
            file.write_text(program)
            for arguments in ([], ["--strict", file]):
                command = [sys.executable, "-m", "mypy", "--cache-dir", folder, *arguments]
                done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


def type_of(problem):
    return type(problem)


def lines_of_code(file):
    """The number of lines without blank ones, comments and the texts that describe the code."""
    source = file.read_text()
    described = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            if isinstance(body[0].value, ast.Constant):
                described.update(range(body[0].lineno, body[0].end_lineno + 1))
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.string.strip() and token.type != tokenize.COMMENT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - described)


if __name__ == "__main__":
    unittest.main()
