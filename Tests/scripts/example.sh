#!/usr/bin/env bash
# Examples/Reader against the real daemon and nginx: with a network, without one, and again.
# Shown: a feed and its articles, what is saved for later, and a file that is larger than the cache
# takes, each as far as it can be had.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

reader() {
    "$bin/Reader" "$socket" "$@" 2>&1
}

# The bytes of a download, what it says at its end, and whether its progress only ever grew.
download() {
    local said=$work/said
    reader download "$1" "$work/download" | tr '\r' '\n' >"$said"
    printf '%s, %s, %s' "$(tail -n 1 "$said" | sed "s|$work/||")" \
        "$(grep ' %$' "$said" | tail -n 1)" \
        "$(grep ' %$' "$said" | sort --numeric-sort --check && echo growing)"
}

is_saved() {
    reader saved | grep --quiet "^held $1$"
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
head -c 5000000 /dev/urandom >"$www/film.bin"
printf 'the third' >"$www/three.txt"
configure <<END
cache: {max_entry_bytes: 1MiB}
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
expect_equal "one is saved for later" "Saved." "$(reader save "$origin/one.txt")"
expect_equal "a download says how far it is, past what the cache takes too" \
    "5000000 bytes in download, 100 %, growing" "$(download "$origin/film.bin")"
expect_same_file "and brings the bytes" "$www/film.bin" "$work/download"
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
expect_equal "what is cached can be downloaded" "300000 bytes in download, 100 %, growing" \
    "$(download "$origin/two.txt")"
expect_same_file "whole" "$www/two.txt" "$work/download"
expect_equal "what is saved now waits for its server" "It is saved as soon as its server answers." \
    "$(reader save "$origin/three.txt")"
"$bin/cachectl" --socket "$socket" evict --all --yes &>/dev/null
expect_equal "with the cache emptied, what was saved is still there" "9 bytes" \
    "$(reader read "$origin/one.txt")"
expect_equal "and is listed with what waits" "held $origin/one.txt
waiting $origin/three.txt" "$(reader saved)"
start_nginx
await 60 is_saved "$origin/three.txt"
expect_equal "which is fetched when its server is back" "held $origin/one.txt
held $origin/three.txt" "$(reader saved)"
end_daemon TERM
finish
