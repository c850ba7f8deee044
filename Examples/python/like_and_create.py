"""Likes the first row of a list, adds another one, and waits until the server has both.

usage: python3 like_and_create.py URL POINTER TITLE [ORIGIN TOKEN-PROGRAM]
"""

import subprocess
import sys

import larder


def main(url, pointer, title, origin=None, program=None):
    with larder.Client() as cache:
        if origin:  # The daemon asks one program at a time for a new token.
            cache.provide_credential(origin, lambda reason: larder.Credential(output(program)))
        first = cache.get(url).rows(pointer)[0][0]
        like = cache.modify(f"{url}/{first['id']}", merge={"liked": True})
        item = cache.create(url, {"type": first["type"], "title": title}, into=pointer)
        print("created", item.id)
        for row, mark in cache.get(url, policy="cache-only").rows(pointer):
            print("~" if mark.pending else " ", row["title"], row.get("liked", False))
        sys.stdout.flush()
        for write in (like, item):
            write.wait()
            print(write.id, write.state, write.problem or "")


def output(program):
    return subprocess.run(program, shell=True, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
