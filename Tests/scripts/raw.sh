#!/usr/bin/env bash
# The raw routes with real processes: an origin's answers as they are, from the network and from the
# cache, and bodies above the limit through the daemon with bounded memory.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

# How much a process may grow over a body of 200 MB.
growth_kib_max=$((32 << 10))

configure_nginx <<'END'
        location /fresh/ { add_header Cache-Control "max-age=600"; }
        location = /refuse { return 403 "own words"; }
        location = /down { return 503 "own words"; }
END
start_nginx
configure <<END
cache: {max_entry_bytes: 8MiB}
origins:
  local: {base_url: "$origin", allow_private: true, fetch: {network_wait: 10s}}
END
start_daemon

# raw METHOD PATH [curl's options]: as `request`, below the origin's name.
raw() {
    local method=$1 path=$2
    shift 2
    request "$method" "/o/local$path" "$@"
}

# -- answers as they are

mkdir -p "$www/fresh"
printf '{"hello": "world"}\n' >"$www/hello.json"
printf 'fresh\n' >"$www/fresh/a.txt"
head -c 300000 /dev/urandom >"$www/large.bin"

raw GET /hello.json
expect_equal "an answer has the origin's status and type" "200 application/json" \
    "$status $(header Content-Type)"
expect_same_file "and its bytes" "$www/hello.json" "$work/body"
expect_match "it says that the network was asked" '^larder; fwd=uri-miss; fwd-status=200; stored' \
    "$(header Cache-Status)"
expect_match "it has a revision" '^[0-9]+$' "$(header Larder-Rev)"
expect_equal "and nothing pending" 0 "$(header Larder-Pending)"
raw GET /hello.json
expect_match "the next one is confirmed" '^larder; fwd=stale; fwd-status=304; stored' \
    "$(header Cache-Status)"
expect_same_file "with the same bytes" "$www/hello.json" "$work/body"
etag=$(header ETag)
raw GET /hello.json --header "If-None-Match: $etag"
expect_equal "a client that has it is told so" "304 $etag" "$status $(header ETag)"
raw GET /hello.json --header "If-Modified-Since: $(header Last-Modified)"
expect_equal "by its date as well" 304 "$status"
raw HEAD /large.bin
expect_equal "HEAD says the length" "200 300000" "$status $(header Content-Length)"
raw GET /large.bin --header 'Cache-Control: only-if-cached'
expect_equal "and what it asked for is cached" 200 "$status"
expect_same_file "byte for byte" "$www/large.bin" "$work/body"
raw GET '/fresh/a.txt?q=%2F%20&account=x'
expect_equal "path and query go to the origin as they were sent" "GET /fresh/a.txt?q=%2F%20&account=x" \
    "$(tail -n 1 "$work/nginx/access.log" | sed 's/^[^"]*"\([^"]*\) HTTP.*/\1/')"
raw GET '/fresh/a.txt?q=%2F%20&account=x' --header 'Cache-Control: max-stale'
expect_match "max-stale takes what is cached" '^larder; hit; ttl=[0-9]+$' "$(header Cache-Status)"
raw GET /none --header 'Cache-Control: only-if-cached'
expect_equal "only-if-cached is 504 where nothing is" "504 urn:larder:miss" "$status $(member .type)"
raw GET /none
expect_equal "404 stays 404" "404 urn:larder:deleted" "$status $(member .type)"
raw GET /refuse
expect_equal "a refusal comes with its words" "403 own words" "$status $(cat "$work/body")"
raw GET /down
expect_equal "so does a 503 while nothing is cached" "503 own words" "$status $(cat "$work/body")"
raw POST /hello.json --data x
expect_equal "a write is refused" "405 GET, HEAD" "$status $(header Allow)"
request GET /o/other/x
expect_equal "an unknown origin is named" "404 urn:larder:unknown-origin" "$status $(member .type)"

# -- 200 MB, which are not kept

peak_kib() {
    awk '$1 == "VmHWM:" { print $2 }' "/proc/$1/status"
}

head -c 200000000 /dev/urandom >"$www/200MB.bin"
sum=$(sha256sum <"$www/200MB.bin")
entries=$(status_of .cache.entries)
before=$(peak_kib "$daemon")
expect_equal "200 MB come through" "$sum" "$(api http://larder/o/local/200MB.bin | sha256sum)"
api --limit-rate 100M http://larder/o/local/200MB.bin --output "$work/copy"
expect_same_file "to a slower client too" "$www/200MB.bin" "$work/copy"
expect_at_most "with bounded memory" "$growth_kib_max" $(($(peak_kib "$daemon") - before))
fetch "$origin/200MB.bin"
expect_equal "a fetch of it is refused and names the way" \
    "413 urn:larder:entry-too-large /o/local/200MB.bin" \
    "$status $(member .type) $(member .raw_href)"
expect_match "also in words" "GET /o/local/200MB.bin" "$(member .hint)"

mkfifo "$work/pipe"
"$bin/cachectl" --socket "$socket" get "$origin/200MB.bin" >"$work/pipe" 2>"$work/said" &
cachectl=$!
exec 3<"$work/pipe"
head -c 150000000 <&3 >"$work/copy"
expect_at_most "cachectl takes it with bounded memory" $((80 << 10)) "$(peak_kib "$cachectl")"
cat <&3 >>"$work/copy"
exec 3<&-
wait "$cachectl"
expect_equal "cachectl get ends well" 0 "$?"
expect_same_file "cachectl get pipes it whole" "$www/200MB.bin" "$work/copy"
expect_match "and says that it is not kept" "too large to be kept" "$(cat "$work/said")"
expect_at_most "still with bounded memory" "$growth_kib_max" $(($(peak_kib "$daemon") - before))
expect_equal "nothing of it is in the cache" "$entries" "$(status_of .cache.entries)"

api --max-time 1 --limit-rate 1M http://larder/o/local/200MB.bin --output /dev/null 2>/dev/null
is_over() {
    [[ $(status_of .flights) == 0 ]]
}
if await 60 is_over; then
    ok "a client that hangs up ends it"
else
    not_ok "a client that hangs up ends it" "no flight" "$(status_of .flights)"
fi

# -- without the network

stop_nginx
raw GET /hello.json
expect_equal "without the network the cached answer is given" 200 "$status"
expect_same_file "byte for byte" "$www/hello.json" "$work/body"
expect_equal "and it is said why" 'larder; fwd=stale; detail=unreachable' "$(header Cache-Status)"
expect_match "with its age" '^[0-9]+$' "$(header Age)"
raw GET /hello.json --header 'Cache-Control: no-cache'
expect_equal "no-cache gives nothing unconfirmed" "502 urn:larder:unreachable" \
    "$status $(member .type)"
raw GET /200MB.bin
expect_equal "what is not kept is not there" "502 urn:larder:unreachable" "$status $(member .type)"
expect_equal "and the daemon lives" ok "$(status_of .state)"
finish
