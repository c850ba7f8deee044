#!/usr/bin/env bash
# ffmpeg plays a film of 200 MB through the daemon: while nothing is stored, and from every place while
# the origin is away. Its index is at the end, so that each start asks for two parts (S46, S47).
# ffmpeg and socat are installed where they are missing; without a network nothing is run.
# Runs alone: it may install packages, and dpkg has one lock.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

has_programs() {
    command -v ffmpeg && command -v socat
} >/dev/null
# shellcheck source=scripts/lib.sh
has_programs || (source scripts/lib.sh && install_packages ffmpeg socat) || true
has_programs || {
    skip "a media player" "ffmpeg or socat is not installed"
    finish
}

configure_nginx </dev/null
start_nginx
configure <<END
cache: {max_bytes: 1GiB, max_entry_bytes: 300MiB}
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon

ffmpeg -v error -f lavfi -i testsrc2=size=1280x720:rate=25 -t 60 -c:v mpeg4 -b:v 27M -minrate 27M \
    -maxrate 27M -bufsize 4M -qmin 1 "$www/film.mp4"
expect_match "the film has about 200 MB" '^(19|20)[0-9]{7}$' "$(stat -c %s "$www/film.mp4")"

# ffmpeg knows no Unix sockets.
port=$(free_port)
socat "TCP-LISTEN:$port,bind=127.0.0.1,reuseaddr,fork" "UNIX-CONNECT:$socket" 2>/dev/null &
socat=$!
is_open() {
    (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}
await 60 is_open || give_up "socat listens" "port $port" none

# played PLACE [SECOND]: a digest of the packets of a film from a second on.
played() {
    ffmpeg -v error -ss "${2:-0}" -i "$1" -map 0 -c copy -f md5 -
}
is_stored() {
    [[ $("$bin/cachectl" --socket "$socket" ls) == *film.mp4* ]]
}

film=http://127.0.0.1:$port/o/local/film.mp4
whole=$(played "$www/film.mp4")
end=$(played "$www/film.mp4" 40)
expect_equal "it plays while nothing is stored (S47)" "$whole" "$(played "$film")"
if await 60 is_stored; then
    ok "then the film is stored"
else
    not_ok "then the film is stored" film.mp4 nothing
fi
stop_nginx
expect_equal "it plays from the cache" "$whole" "$(played "$film")"
expect_equal "it plays from the middle on (S46)" "$end" "$(played "$film" 40)"
{ timeout --signal=KILL 1 ffmpeg -v error -re -i "$film" -map 0 -c copy -f null -; } 2>/dev/null
expect_equal "a player that was killed goes on from the middle" "$end" "$(played "$film" 40)"
kill "$socat"
end_daemon TERM
expect_equal "the daemon ends in order" 0 "$ended"
finish
