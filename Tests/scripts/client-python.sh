#!/usr/bin/env bash
# The Python client: the vectors against the scripted server; reads, streams, writes and credentials
# against the real daemon, with kills and 18 renewals of one refresh token (LARDER_RENEWALS); the
# adapters with requests and httpx of Debian 12 and the newest of PyPI; the package's types; the
# programs of Examples/python.
# Runs alone: its large blobs take the disk's room that another script measures.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
command -v python3 >/dev/null || {
    skip "the Python client" "there is no python3"
    finish
}
LARDER_BIN=$(realpath "$bin")
export LARDER_BIN PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=clients/python/tests:clients/python

# tests PYTHON LABEL MODULE...: each test prints its own line.
tests() {
    "$1" -W error::ResourceWarning clients/python/tests/run.py "${@:2}" || failures=$((failures + 1))
}

tests python3 "" test_vectors test_client test_package test_daemon test_writes test_renewals test_examples test_docs

# -- the adapters, with what Debian 12 has and with the newest

# Whether a Python has packages.
has() {
    "$1" -c "import ${*:2}" 2>/dev/null
}

# environment NAME PACKAGE...: a Python with the packages, in `python`.
environment() {
    python=.build/python/$1/bin/python
    has "$python" requests, httpx && return
    python3 -m venv ".build/python/$1" >>"$work/pip.log" 2>&1 \
        && "$python" -m pip install --quiet --timeout 10 --retries 1 "${@:2}" >>"$work/pip.log" 2>&1
}

if has /usr/bin/python3 requests, httpx; then
    tests /usr/bin/python3 "the system's versions" test_adapters test_httpx
elif environment debian requests==2.28.1 urllib3==1.26.12 httpx==0.23.3; then
    tests "$python" "requests 2.28, httpx 0.23" test_adapters test_httpx
else
    skip "adapters with the versions of Debian 12" "$(tail -n 1 "$work/pip.log")"
fi
if environment newest requests httpx mypy types-requests gql; then
    has "$python" gql || "$python" -m pip install --quiet --timeout 10 --retries 1 gql >>"$work/pip.log" 2>&1
    tests "$python" "the newest versions" test_adapters test_httpx test_package test_graphql
else
    skip "adapters with the newest versions" "$(tail -n 1 "$work/pip.log")"
fi

finish
