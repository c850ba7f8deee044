#!/usr/bin/env bash
# GraphQL of a real server (graphql-js): queries that are answered without it, errors, mutations, and
# objects that a REST answer of the same origin shows, too (S31 to S37).
# Runs alone: it may install packages, and dpkg has one lock.
# The dollar signs are of GraphQL; `await` calls functions by their names.
# shellcheck disable=SC2016,SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

export NODE_PATH=/usr/share/nodejs
has_library() {
    node -e 'require("graphql")' 2>/dev/null
}
# shellcheck source=scripts/lib.sh
has_library || (source scripts/lib.sh && install_packages nodejs node-graphql) || true
has_library || {
    skip "GraphQL" "there is no graphql-js"
    finish
}

port=$(free_port)
server=http://127.0.0.1:$port
url=$server/graphql
pid=

start_server() {
    node Tests/scripts/graphql-origin.js "$port" >>"$work/origin.log" 2>&1 &
    pid=$!
    await 60 curl --silent --output /dev/null "$server/books/1" || give_up "the server starts" "it answers" "no answer"
    : >"$work/origin.log"
}

stop_server() {
    kill "$pid"
    wait "$pid" 2>/dev/null
}

# ask JSON [CURL…]: a request of a GraphQL program whose base URL is the daemon's.
ask() {
    curl --silent --unix-socket "$socket" --json "$1" "${@:2}" http://localhost/o/shop/graphql
}

configure </dev/null
start_daemon
start_server
"$bin/cachectl" --socket "$socket" origin add shop "$server" --graphql /graphql >"$work/added" 2>&1
expect_equal "cachectl adds an origin with GraphQL" 0 "$?"

list='{"query":"query B($first: Int) { books(first: $first) { __typename id title likes } }","variables":{"first":2}}'
first='{"data":{"books":[{"__typename":"Book","id":"1","title":"Title 1","likes":0},{"__typename":"Book","id":"2","title":"Title 2","likes":0}]}}'
expect_equal "a query is answered by the server" "$first" "$(ask "$list")"
program=(node Tests/scripts/graphql-program.mjs "$url" "$socket")
expect_equal "a program with Node's fetch reads through the daemon" "Title 1, Title 2" "$("${program[@]}")"

stop_server
expect_equal "a query is answered without the server" "$first" "$(ask "$list")"
expect_equal "the program reads without the server" "Title 1, Title 2" "$("${program[@]}")"
expect_equal "a query with other variables is another one" 502 \
    "$(ask "${list/\"first\":2/\"first\":1}" --output /dev/null --write-out '%{http_code}')"
mutation='{"query":"mutation { like(id: 1) { id } }"}'
expect_equal "a mutation is not answered without the server" 502 \
    "$(ask "$mutation" --output /dev/null --write-out '%{http_code}')"
expect_equal "a mutation is no read for /v1/fetch" "urn:larder:not-a-read" \
    "$(api --json "{\"url\":\"$url\",\"method\":\"POST\",\"body\":$mutation}" http://larder/v1/fetch | jq -r .type)"

start_server
another='{"query":"{ book(id: 1) { __typename id title } }"}'
expect_equal "a query is answered" '{"data":{"book":{"__typename":"Book","id":"1","title":"Title 1"}}}' "$(ask "$another")"

stock='{"query":"{ books(first: 1) { id stock } }"}'
good='{"data":{"books":[{"id":"1","stock":7}]}}'
expect_equal "a query is answered without errors" "$good" "$(ask "$stock")"
curl --silent --output /dev/null "$server/break"
expect_match "then with errors in a 200, which are told with the body (S37)" \
    '"errors":\[\{"message":"the stock is unknown"' "$(ask "$stock")"
expect_equal "the answer without errors stays (S37)" "$good" \
    "$(ask "$stock" --header 'Cache-Control: only-if-cached')"
fetch_with "{\"url\":\"$url\",\"method\":\"POST\",\"body\":$stock}"
expect_equal "/v1/fetch shows it, and then the failure (S37)" \
    "snapshot cache stale;problem origin-status;end error" "$(outline)"
expect_equal "with its status and its pointer (S37)" "200 /errors" \
    "$(member 'select(.type == "problem").problem | "\(.origin_status) \(.pointer)"')"
failing=${stock/first: 1/first: 2}
expect_match "a query that never had another answer is told, too" '"errors":' "$(ask "$failing")"
fetched=$(api --json "{\"url\":\"$url\",\"method\":\"POST\",\"body\":$failing,\"policy\":\"network-first\"}" \
    http://larder/v1/fetch)
expect_equal "for /v1/fetch it is a problem" "urn:larder:origin-status 200 /errors" \
    "$(jq -r '"\(.type) \(.origin_status) \(.pointer)"' <<<"$fetched")"
expect_equal "and nothing is kept of its answer (S37)" 504 \
    "$(ask "$failing" --header 'Cache-Control: only-if-cached' --output /dev/null --write-out '%{http_code}')"

expect_equal "a mutation goes to the server" '{"data":{"like":{"id":"1"}}}' "$(ask "$mutation")"
expect_equal "the server had the mutation once" 1 "$(grep -c mutation "$work/origin.log")"
expect_equal "a REST answer shows the same book" 1 "$(api http://larder/o/shop/books/1 | jq .likes)"
cached=$(ask "$list" --header 'Cache-Control: only-if-cached')
expect_equal "the cached query shows it, too" "${first/\"likes\":0/\"likes\":1}" "$cached"

id=$(api --get --data-urlencode "prefix=$url POST" http://larder/v1/entries | jq -r '.items[] | select(.body_bytes > 130) | .id')
expect_match "the id has the URL and a digest" "^$url POST=sha256-[0-9a-f]{64}\$" "$id"
"$bin/cachectl" --socket "$socket" pin "$id" >"$work/pinned" 2>&1
expect_equal "it is pinned by its id" 0 "$?"
"$bin/cachectl" --socket "$socket" evict --all --yes >"$work/evicted" 2>&1
expect_equal "everything else is evicted" 0 "$?"
stop_server
expect_equal "another query is gone" 502 "$(ask "$another" --output /dev/null --write-out '%{http_code}')"
expect_equal "the pinned query survives an eviction of all" "${first/\"likes\":0/\"likes\":1}" "$(ask "$list")"
end_daemon TERM
start_daemon
expect_equal "it survives a restart" "${first/\"likes\":0/\"likes\":1}" "$(ask "$list")"
finish
