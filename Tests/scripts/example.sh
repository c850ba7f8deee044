#!/usr/bin/env bash
# Examples/Reader against the real daemon and nginx: with a network, without one, and again.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

reader() {
    "$bin/Reader" "$socket" "$@" 2>&1
}

feed() {
    jq --null-input --arg origin "$origin" --args \
        '{title: "News", articles: [$ARGS.positional[] | {title: ., url: "\($origin)/\(.).txt"}]}' \
        "$@" >"$www/feed.json"
}

configure_nginx </dev/null
expect_equal "without a daemon it says so" "There is no larderd at $socket." \
    "$(reader show "$origin/feed.json")"
feed one two
printf 'the first' >"$www/one.txt"
head -c 300000 /dev/urandom >"$www/two.txt"
start_nginx
configure <<END
origins:
  news: {base_url: "$origin", allow_private: true}
END
start_daemon

articles="- one: $origin/one.txt
- two: $origin/two.txt"
expect_equal "the first time the network answers" "News (network)
$articles" "$(reader show "$origin/feed.json")"
expect_equal "the second time the cache does, and the network confirms it" "News (cache, stale)
$articles
The network has nothing newer." "$(reader show "$origin/feed.json")"
expect_equal "it keeps the articles" "one: network
two: network" "$(reader keep "$origin/feed.json")"
feed one
expect_equal "a changed feed comes after the cached one" "News (cache, stale)
$articles
News (network)
- one: $origin/one.txt" "$(reader show "$origin/feed.json")"

stop_nginx
expect_equal "offline the feed is still there" "News (cache, stale)
- one: $origin/one.txt
The network failed: The origin cannot be reached" "$(reader show "$origin/feed.json")"
expect_equal "and so are the articles, large ones too" "9 bytes 300000 bytes" \
    "$(reader read "$origin/one.txt") $(reader read "$origin/two.txt")"
expect_match "what was never kept is an error with what to do" \
    "^There is no network, and nothing was kept: .*network is back" \
    "$(reader show "$origin/never.json")"
end_daemon TERM
finish
