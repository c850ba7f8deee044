"""Sets values of 1 KiB under 1,000 keys of a python-diskcache, and prints how many a second.

    diskcache_set.py FOLDER COUNT
"""

import sys
import time

import diskcache

with diskcache.Cache(sys.argv[1]) as cache:
    count, value = int(sys.argv[2]), b"x" * 1024
    start = time.monotonic()
    for number in range(count):
        cache.set(number % 1000, value)
    print(count / (time.monotonic() - start))
