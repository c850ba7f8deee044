"""The lines of docs/clients.md that are Python, as a session."""

import doctest
import os
import re
import unittest
from unittest import mock

from support import ROOT, DaemonTest


class DocumentTests(DaemonTest):
    reads = ", post_reads: [/graphql]"

    def test_the_lines_of_the_manual_give_what_it_says(self):
        text = (ROOT / "docs" / "clients.md").read_text()
        lines = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
        for name in ("http://127.0.0.1:8099", "https://api.example.com"):
            lines = lines.replace(name, self.origin.url)
        lines = lines.replace('"demo"', '"api"')
        lines = lines.replace("note.txt", str(self.folder / "note.txt"))
        self.origin.put("/hello.json", {"hello": "world"})
        self.origin.put("/list", [])
        self.origin.control(prefix="/graphql", status=200, body={"data": {"books": []}})
        test = doctest.DocTestParser().get_doctest(lines, {}, "docs/clients.md", None, None)
        self.assertGreater(len(test.examples), 15)
        told = []
        with mock.patch.dict(os.environ, {"LARDER_SOCKET": self.daemon.socket}):
            doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=told.append)
        self.assertEqual("".join(told), "")


if __name__ == "__main__":
    unittest.main()
