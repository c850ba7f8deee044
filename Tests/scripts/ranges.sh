#!/usr/bin/env bash
# Parts of a stored body with real processes: a body of some MiB from nginx comes through the daemon
# in parts, and a download that was killed goes on, also while the origin is away (S46, S47).
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

size=$((5 << 20))

configure_nginx <<'END'
        location /slow/ { limit_rate 300k; }
        location /trickle/ { limit_rate 500k; }
END
mkdir "$www/slow" "$www/trickle"
start_nginx
configure <<END
cache: {max_bytes: 1GiB, max_entry_bytes: 300MiB}
origins:
  local: {base_url: "$origin", allow_private: true}
  trickle: {base_url: "$origin/trickle", allow_private: true, fetch: {timeout: 2s}}
END
start_daemon

head -c "$size" /dev/urandom >"$www/film.bin"
url=http://larder/o/local/film.bin
request GET /o/local/film.bin
expect_equal "a body of 5 MiB comes whole, with Accept-Ranges" "200 $size bytes" \
    "$status $(stat -c %s "$work/body") $(header Accept-Ranges)"
tag=$(header ETag)

# joined TARGET: asks for the body in parts of odd sizes, and joins them in the file `joined`.
joined() {
    local from=0 to step=1
    : >"$work/joined"
    while ((from < size)); do
        to=$((from + step - 1))
        request GET "$1" --range "$from-$to" --header "If-Range: $tag" \
            --header 'Cache-Control: only-if-cached'
        ((to < size)) || to=$((size - 1))
        if [[ "$status $(header Content-Range)" != "206 bytes $from-$to/$size" ]]; then
            not_ok "a part of $1" "206 bytes $from-$to/$size" "$status $(header Content-Range)"
            return
        fi
        cat "$work/body" >>"$work/joined"
        from=$((to + 1))
        step=$((step * 3 + 7))
    done
}

for target in /o/local/film.bin "$(entry "$origin/film.bin")" \
    "/v1/get?policy=cache-only&url=$origin/film.bin"; do
    joined "$target"
    expect_same_file "parts of ${target%%\?*} make the body" "$www/film.bin" "$work/joined"
done

request GET /o/local/film.bin --range "$size-"
expect_equal "a range after the end is refused" \
    "416 urn:larder:range-not-satisfiable bytes */$size" \
    "$status $(member .type) $(header Content-Range)"
request GET /o/local/film.bin --range 0-9,20-29
expect_equal "several parts bring the whole body" "200 $size" \
    "$status $(stat -c %s "$work/body")"
request GET /o/local/film.bin --range 0-9 --header 'If-Range: "other"'
expect_equal "an If-Range with another tag brings the whole body" "200 $size" "$status $(stat -c %s "$work/body")"

# -- a download that is killed and goes on

has_begun() {
    [[ -s $work/download ]]
}

# kill_download: begins a slow download into the file `download`, and kills it.
kill_download() {
    local curl
    rm -f "$work/download"
    curl --silent --unix-socket "$socket" --limit-rate 256k --output "$work/download" "$url" &
    curl=$!
    await 60 has_begun || give_up "a download begins" "it has bytes within 60 s" none
    kill -KILL "$curl"
    wait "$curl" 2>/dev/null
}

resume() {
    api --continue-at - --output "$work/download" --write-out '%{http_code} %{size_download}' "$url"
}

for network in up down; do
    [[ $network == up ]] || stop_nginx
    kill_download
    had=$(stat -c %s "$work/download")
    expect_equal "with the origin $network, a killed download is short" yes \
        "$( ((had < size)) && echo yes || echo "$had")"
    expect_equal "with the origin $network, only the rest comes" "206 $((size - had))" "$(resume)"
    expect_same_file "with the origin $network, the file is whole" "$www/film.bin" "$work/download"
done

# -- the body changes while a client has a part of it

kill_download
head -c "$size" /dev/urandom >"$www/film.bin"
start_nginx
had=$(stat -c %s "$work/download")
request GET /o/local/film.bin --range "$had-" --header "If-Range: $tag" \
    --header 'Cache-Control: no-cache'
expect_equal "a client with a part of the old body gets no part of the changed one" "200 $size" \
    "$status $(stat -c %s "$work/body")"
expect_same_file "the whole changed body comes" "$www/film.bin" "$work/body"

# -- with nothing stored (S47)

head -c 300000 /dev/urandom >"$www/other.bin"
tail -c +100001 "$www/other.bin" >"$work/rest"
request GET /o/local/other.bin --range 100000-
expect_equal "a range of a body that is not stored is the origin's" \
    "206 bytes 100000-299999/300000" "$status $(header Content-Range)"
expect_same_file "the part has the bytes of the origin" "$work/rest" "$work/body"
nginx_has_logged
expect_match "the origin was asked for the part" '"GET /other.bin HTTP/1.1" 206 200000 ' \
    "$(tail -n 1 "$work/nginx/access.log")"
request GET /o/local/other.bin --header 'Cache-Control: only-if-cached'
expect_equal "the part is not stored" 504 "$status"
request GET /o/local/other.bin --range 0-
expect_equal "bytes=0- brings the whole body" "206 bytes 0-299999/300000" \
    "$status $(header Content-Range)"
request GET /o/local/other.bin --header 'Cache-Control: only-if-cached'
expect_same_file "the daemon has stored the whole body" "$www/other.bin" "$work/body"

for name in one two; do head -c 1500000 /dev/urandom >"$www/slow/$name.bin"; done
# play NAME: begins to read a body as media players do, into the file `download`.
play() {
    rm -f "$work/download"
    api --range 0- --dump-header "$work/played" --output "$work/download" \
        "http://larder/o/local/slow/$1.bin" &
    player=$!
    await 60 has_begun || give_up "a player gets the first bytes" "within 60 s" none
}
is_stored() {
    request GET "/o/local/slow/$1.bin" --header 'Cache-Control: only-if-cached'
    ((status == 200))
}

play one
request GET /o/local/slow/one.bin --header 'Cache-Control: only-if-cached'
expect_equal "a player has bytes before the body is stored (S47)" 504 "$status"
wait "$player"
expect_equal "the player gets all as one part (S47)" "206 bytes 0-1499999/1500000" \
    "$(sed -n '1s/.* \([0-9]*\) .*/\1/p' "$work/played") $(sed -n \
        's/^Content-Range: *\(.*\)\r$/\1/Ip' "$work/played")"
expect_same_file "the bytes are those of the origin" "$www/slow/one.bin" "$work/download"
is_stored one
expect_same_file "the body is stored when the player has it" "$www/slow/one.bin" "$work/body"

play two
kill -KILL "$player"
wait "$player" 2>/dev/null
await 60 is_stored two
expect_same_file "the body is stored although the player has left (S47)" "$www/slow/two.bin" \
    "$work/body"

# -- bodies that take longer than `fetch.timeout`, and are never silent for so long

for name in one two; do head -c 2500000 /dev/urandom >"$www/trickle/$name.bin"; done
request HEAD /o/trickle/one.bin
expect_equal "HEAD is answered when the head is there" "200 2500000" \
    "$status $(header Content-Length)"
request GET /o/trickle/one.bin --header 'Cache-Control: only-if-cached'
expect_equal "which is before the body is stored" 504 "$status"
"$bin/cachectl" --socket "$socket" pin "$origin/trickle/two.bin" 2>"$work/err" &
pin=$!
request GET /o/trickle/one.bin
expect_equal "a body of 4 s comes whole with a timeout of 2 s" "200 2500000" \
    "$status $(stat -c %s "$work/body")"
expect_same_file "its bytes are those of the origin" "$www/trickle/one.bin" "$work/body"
nginx_has_logged
expect_equal "HEAD and GET were one request" 1 \
    "$(grep --count ' /trickle/one.bin ' "$work/nginx/access.log")"
wait "$pin"
code=$?
nginx_has_logged
expect_equal "such a body is pinned by one request" "0 1" \
    "$code $(grep --count '"GET /trickle/two.bin ' "$work/nginx/access.log")"

# -- a large file (S46)

head -c 200000000 /dev/urandom >"$www/large.bin"
url=http://larder/o/local/large.bin
request GET /o/local/large.bin
expect_same_file "a body of 200 MB comes whole" "$www/large.bin" "$work/body"
stop_nginx
for round in 1 2 3; do
    rm -f "$work/download"
    curl --silent --unix-socket "$socket" --limit-rate 60M --output "$work/download" "$url" &
    player=$!
    await 60 has_begun
    kill -KILL "$player"
    wait "$player" 2>/dev/null
    had=$(stat -c %s "$work/download")
    expect_equal "of 200 MB only the rest comes after kill $round" "206 $((200000000 - had))" \
        "$(resume)"
    expect_same_file "the file of 200 MB is whole after kill $round" "$www/large.bin" \
        "$work/download"
done
finish
