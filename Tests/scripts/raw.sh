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
        location /dav/ {
            dav_methods PUT DELETE;
            create_full_put_path on;
            client_max_body_size 0;
            add_header Cache-Control "max-age=600";
            if ($request_method = OPTIONS) { return 204; }
        }
        location = /posted {
            add_header X-Seen "$http_authorization|$http_larder_client|$http_larder_account|$http_x_own" always;
            add_header Set-Cookie "s=1" always;
            return 201 "made";
        }
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
is_kept() {
    raw GET /large.bin --header 'Cache-Control: only-if-cached'
    ((status == 200))
}
await 60 is_kept
expect_equal "and what it asked for is cached" 200 "$status"
expect_same_file "byte for byte" "$www/large.bin" "$work/body"
raw GET '/fresh/a.txt?q=%2F%20&account=x'
nginx_has_logged
expect_equal "path and query go to the origin as they were sent" "GET /fresh/a.txt?q=%2F%20&account=x" \
    "$(tail -n 1 "$work/nginx/access.log" | sed 's/^[^"]*"\([^"]*\) HTTP.*/\1/')"
raw GET '/fresh/a.txt?q=%2F%20&account=x' --header 'Cache-Control: max-stale'
expect_match "max-stale takes what is cached" '^larder; hit; ttl=[0-9]+$' "$(header Cache-Status)"
raw GET /none --header 'Cache-Control: only-if-cached'
expect_equal "only-if-cached is 504 where nothing is" "504 urn:larder:miss" "$status $(member .type)"
raw GET /none
expect_match "404 stays 404, with the origin's own page" '^404 .*nginx' "$status $(tr -d '\r\n' <"$work/body")"
raw GET /none --header 'Cache-Control: max-stale'
expect_match "each time it is asked" '^404 larder; fwd=[a-z-]*; fwd-status=404' "$status $(header Cache-Status)"
raw GET /refuse
expect_equal "a refusal comes with its words" "403 own words" "$status $(cat "$work/body")"
raw GET /down
expect_equal "so does a 503 while nothing is cached" "503 own words" "$status $(cat "$work/body")"
request GET /o/other/x
expect_equal "an unknown origin is named" "404 urn:larder:unknown-origin" "$status $(member .type)"

# -- the URL as the target

# absolute METHOD URL [curl's options]
absolute() {
    local method=$1 url=$2
    shift 2
    status=$(api --request "$method" --request-target "$url" --dump-header "$work/headers" \
        --output "$work/body" --write-out '%{http_code}' "$@" http://other.example/)
}

absolute GET "$origin/fresh/a.txt?q=%2F%20&account=x" --header 'Larder-Policy: cache-only'
expect_equal "an absolute URL as the target is the same entry" "200 fresh" "$status $(cat "$work/body")"
absolute GET "$origin/fresh/a.txt?n=%41[]" --header 'Larder-Policy: network-only'
nginx_has_logged
expect_equal "and goes to the origin byte for byte" "GET /fresh/a.txt?n=%41[]" \
    "$(tail -n 1 "$work/nginx/access.log" | sed 's/^[^"]*"\([^"]*\) HTTP.*/\1/')"
absolute DELETE http://other.example/v1/entries/a
expect_equal "a URL that no origin has is no route of the API" "403 urn:larder:unknown-origin" \
    "$status $(member .type)"
absolute GET http://larder/v1/health
expect_equal "larder is the daemon itself" "200 ok" "$status $(member .status)"

# -- writes that are passed on

raw POST /posted --data x --header 'Authorization: Bearer t' --header 'Larder-Client: c' \
    --header 'Larder-Account: work' --header 'X-Own: 1'
expect_equal "a write is passed on, and the origin's answer is given back" "201 made s=1" \
    "$status $(cat "$work/body") $(header Set-Cookie)"
expect_equal "with the client's own headers, and none of the daemon's" "Bearer t|||1" \
    "$(header X-Seen | sed 's/^Bearer t|-*|-*|/Bearer t|||/; s/=//g')"
raw PUT /dav/a.txt --data-binary one
expect_equal "a PUT makes a file" "201 one" "$status $(cat "$www/dav/a.txt")"
raw GET /dav/a.txt
raw GET /dav/a.txt --header 'Larder-Policy: cache-only'
expect_match "which is cached" '^larder; hit; ttl=' "$(header Cache-Status)"
absolute PUT "$origin/dav/a.txt" --data-binary second
expect_equal "another replaces it" 204 "$status"
raw GET /dav/a.txt --header 'Larder-Policy: cache-only'
expect_equal "what is cached is stale then" "larder; hit one" "$(header Cache-Status) $(cat "$work/body")"
raw GET /dav/a.txt --header 'Larder-Policy: cache-first'
expect_equal "and is read again" "second" "$(cat "$work/body")"
raw OPTIONS /dav/a.txt
expect_equal "OPTIONS is the origin's" 204 "$status"
raw DELETE /dav/a.txt
expect_equal "a DELETE, too" "204 gone" "$status $([[ -e $www/dav/a.txt ]] || echo gone)"
raw POST /hello.json --data x
expect_equal "a refusal is given back" 405 "$status"
expect_match "in the origin's own words" nginx "$(cat "$work/body")"

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

before=$(peak_kib "$daemon")
raw PUT /dav/large --upload-file "$www/200MB.bin"
expect_equal "200 MB are passed on to the origin" "201 $sum" \
    "$status $(sha256sum <"$www/dav/large")"
raw PUT /dav/large --upload-file - <"$www/200MB.bin"
expect_equal "in chunks as well" "204 $sum" "$status $(sha256sum <"$www/dav/large")"
expect_at_most "with bounded memory" "$growth_kib_max" $(($(peak_kib "$daemon") - before))
api --max-time 1 --limit-rate 1M --upload-file "$www/200MB.bin" http://larder/o/local/dav/cut 2>/dev/null
is_over() {
    [[ $(status_of .flights) == 0 ]]
}
if await 60 is_over && [[ ! -e $www/dav/cut ]]; then
    ok "a client that hangs up ends its write"
else
    not_ok "a client that hangs up ends its write" "no flight, no file" "$(status_of .flights)"
fi

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
raw PUT /dav/a.txt --data-binary three
expect_equal "a write is told that the origin cannot be reached" "502 urn:larder:unreachable" \
    "$status $(member .type)"
raw GET /200MB.bin
expect_equal "what is not kept is not there" "502 urn:larder:unreachable" "$status $(member .type)"
expect_equal "and the daemon lives" ok "$(status_of .state)"
finish
