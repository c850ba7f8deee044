"""Shows a list, now and after each change, with a mark for each row. Works without a network.

usage: python3 offline_list.py URL [POINTER]
"""

import sys

import larder


def main(url, pointer=""):
    with larder.Client() as cache:
        for view in cache.follow(url):
            if isinstance(view, larder.Entry):
                print(f"-- {'old' if view.stale else 'new'}, from the {view.source}")
                for row, mark in view.rows(pointer):
                    sign = "!" if mark.failed else "~" if mark.pending else " "
                    print(sign, row.get("title"))
                for lost in view.failed_rows:
                    print("!", lost["value"].get("title"))
            elif isinstance(view, larder.Failure):
                print(f"-- {view.problem}")
            elif isinstance(view, larder.Deleted):
                print("-- the list is gone")
            sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
