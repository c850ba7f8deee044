#!/usr/bin/env python3
"""Runs test modules, and prints `ok` or `not ok` for each test, as the scripts do.

usage: run.py LABEL MODULE...
"""

import faulthandler
import sys
import unittest

import support  # noqa: F401


class Result(unittest.TestResult):
    label = ""

    def name(self, test):
        words = test.id().rpartition(".")[2].replace("test_", "", 1).replace("_", " ")
        return f"{self.label}{words}"

    def startTest(self, test):
        super().startTest(test)
        # A test that hangs ends the run, and shows where each thread is.
        faulthandler.dump_traceback_later(180, exit=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        print(f"ok {self.name(test)}", flush=True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"ok {self.name(test)} # skipped: {reason}", flush=True)

    def refused(self, test, error):
        print(f"not ok {self.name(test)}", flush=True)
        print(self._exc_info_to_string(error, test), file=sys.stderr, flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.refused(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.refused(test, error)


def main():
    label, *modules = sys.argv[1:]
    result = Result()
    result.label = f"{label}: " if label else ""
    unittest.defaultTestLoader.loadTestsFromNames(modules).run(result)
    if not result.testsRun:
        print("not ok no test has run")
        sys.exit(1)
    sys.exit(not result.wasSuccessful())


main()
