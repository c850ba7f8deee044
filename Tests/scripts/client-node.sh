#!/usr/bin/env bash
# The Node client: the vectors, the package beside the schema, and the real daemon with a real
# origin, as clients/node/test has them. node:test runs them; each of its tests is a line here.
# Runs alone: its large blobs take the disk's room that another script measures.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

# Debian's node is 18, which is enough; any later one is taken.
if ! command -v node >/dev/null || ! command -v tsc >/dev/null; then
    # shellcheck source=scripts/lib.sh
    (source scripts/lib.sh && install_packages nodejs node-typescript)
fi
command -v node >/dev/null || {
    skip "the Node client" "there is no node"
    finish
}
command -v python3 >/dev/null || give_up "the scripted server runs" "python3" "there is none"

LARDER_BIN=$(realpath "$bin")
export LARDER_BIN
timeout 600 node --test --test-reporter=tap clients/node/test/*.test.js >"$work/tap" 2>"$work/larderd.log"
ended=$?

# A suite has a line of its own beside those of its tests.
while read -r line; do
    case $line in
        'not ok '*) not_ok "${line#not ok * - }" "it passes" "see below" ;;
        'ok '*' # SKIP '*) skip "$(sed 's/^ok [0-9]* - //; s/ # SKIP .*//' <<<"$line")" "${line##* # SKIP }" ;;
        'ok '*) ok "${line#ok * - }" ;;
    esac
done < <(sed -n 's/^ *\(\(not \)\?ok [0-9]\)/\1/p' "$work/tap")
expect_equal "node ends without a failure" 0 "$ended"
((failures == 0)) || sed -n '/^ *not ok/,/^ *\.\.\.$/p' "$work/tap" >&2
finish
