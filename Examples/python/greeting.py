"""Reads a URL: the server's answer, or the cached one if there is no network.

usage: python3 greeting.py URL
"""

import sys

import larder

url = sys.argv[1]
entry = larder.Client().get(url)
print(entry.source, entry.stale, entry.json()["hello"])
