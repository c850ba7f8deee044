#!/usr/bin/env bash
# Reads while a user writes each 20 ms for 10 s, to an origin that takes 200 ms for each request: no
# read fails, and no answer of the origin is held back (P-06, case 8). Benchmarks/reads-under-writes
# also measures how old the server's member is that the cache shows: at most 1 s. On a busy machine
# all takes longer, so this script counts newer answers: in 1 s the origin gives two programs ten.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
command -v python3 >/dev/null || {
    skip "reads under writes" "there is no python3"
    finish
}

# says NAME REGEX: the benchmark has printed such a line.
says() {
    if grep --quiet --extended-regexp "$2" "$work/said"; then
        ok "$1"
    else
        not_ok "$1" "a line with $2" "$(<"$work/said")"
    fi
}

# The status also tells of the age in seconds.
LARDER_BIN=$bin Benchmarks/reads-under-writes >"$work/said" 2>&1
says "each write is accepted" '^([1-9][0-9]*) of \1 writes accepted'
says "no read fails" '^0 of [1-9][0-9]* reads from the network and [1-9][0-9]* of the cache failed$'
says "at most ten answers of the origin are newer than what the cache shows" \
    '^newer answers of the origin: at most ([0-9]|10)$'
finish
