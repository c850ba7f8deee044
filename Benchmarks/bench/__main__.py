"""Measures the daemon against what else does its work; `scripts/bench --help` says how it is called."""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import report
from cases import CASES
from rig import Rig, say
from servers import Broken


def json_object(text):
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError
    return value


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/bench", usage="see scripts/bench --help", add_help=False)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", choices=CASES, metavar="CASE")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE")
    parser.add_argument("--against", type=argparse.FileType(), metavar="FILE")
    parser.add_argument("--before", metavar="FOLDER")
    parser.add_argument("--origin", type=json_object, default={}, metavar="JSON")
    # With "new" the build of --before knows no accounts.
    parser.add_argument("--accounts", nargs="?", const="all", choices=["all", "new"])
    parser.add_argument("--write", nargs="?", const="docs/benchmarks.md", metavar="FILE")
    # Without them the options are looked at, and nothing is measured.
    parser.add_argument("--programs")
    parser.add_argument("--python-path", required=True)
    found = parser.parse_args()
    if found.rounds < 1:
        parser.error(f"--rounds={found.rounds} is not a number from 1 on")
    if found.write and found.only:
        parser.error("--write replaces the whole table: leave --only out")
    if found.write:
        try:
            report.around(found.write)
        except (OSError, ValueError) as failure:
            parser.error(f"--write: {failure}")
    for program in ["larderd", "cachectl"] if found.before else []:
        if not os.path.exists(os.path.join(found.before, program)):
            parser.error(f"there is no {program} in {found.before}")
    return found


def first_line(*command):
    """What a program says of its version, on whichever stream it says so."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr).splitlines()[0].strip()


def versions():
    found = {command[0]: first_line(*command) for command in [
        ("nginx", "-v"), ("varnishd", "-V"), ("redis-server", "--version"), ("h2load", "--version"), ("swift", "--version")]}
    return {name: version for name, version in found.items() if version}


def machine():
    with open("/proc/cpuinfo") as lines:
        model = re.search(r"^model name[^:]*: (.*)$", lines.read(), re.MULTILINE)
    return {"processors": os.cpu_count(), "processor": model and model[1],
            "system": f"{platform.system()} {platform.release()} {platform.machine()}"}


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or None


def measured(options, folder):
    programs = {"larder": options.programs}
    if options.before:
        programs["before"] = options.before
    with_account = {None: [], "all": list(programs), "new": ["larder"]}[options.accounts]
    rig = Rig(folder, programs, options.rounds, options.python_path, options.origin,
              accounts={name: "bench" for name in with_account})
    figures, broken = [], []
    try:
        for name in options.only or CASES:
            say(f"== {name}")
            try:
                for figure in CASES[name](rig):
                    figures.append(figure.summary())
            except Broken as failure:
                say(f"error: {failure}")
                broken.append(name)
    finally:
        rig.stop_all()
    return {"broken": broken, "date": time.strftime("%Y-%m-%d"), "commit": commit(), "rounds": options.rounds,
            "accounts": options.accounts, "machine": machine(), "versions": versions(), "figures": figures}


def main():
    options = arguments()
    if options.programs is None:
        return
    # What was started ends with the bench, however that ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    before = json.load(options.against) if options.against else None
    # A short name: what is in it are paths of sockets, too.
    with tempfile.TemporaryDirectory(prefix="larder-bench.") as folder:
        result = measured(options, folder)
    if options.json == "-":
        print(json.dumps(result, indent=1))
    else:
        if options.json:
            with open(options.json, "w") as file:
                file.write(json.dumps(result, indent=1) + "\n")
        print(report.table(result))
        if before:
            print(report.comparison(result, before))
    if options.write and not result["broken"]:
        report.write(result, options.write)
    if result["broken"]:
        sys.exit(f"error: not measured, or not all of it: {', '.join(result['broken'])}")


main()
