#!/usr/bin/env bash
# SIGTERM ends every stream with its last frame and loses nothing; and many clients that want the
# same slow URL make one request at its origin.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

clients=100

cp /usr/share/iso-codes/json/iso_4217.json "$www/currencies.json"
jq --null-input '[range(20000)]' >"$www/slow.json"
mkdir "$www/silent"
cp "$www/currencies.json" "$www/silent"

# An origin that takes connections and never answers.
perl -MIO::Socket::INET -e '
    my $socket = IO::Socket::INET->new(Listen => 128, LocalAddr => "127.0.0.1");
    $| = 1;
    print $socket->sockport, "\n";
    sleep;' >"$work/silent-port" &
await 60 test -s "$work/silent-port" || give_up "a silent origin starts" "its port" "nothing"
# One that answers a request when the file `go` is there.
perl -MIO::Socket::INET -e '
    my ($file, $go) = @ARGV;
    my $socket = IO::Socket::INET->new(Listen => 128, LocalAddr => "127.0.0.1");
    open my $in, "<", $file or die;
    local $/;
    my $bytes = <$in>;
    $| = 1;
    print $socket->sockport, "\n";
    while (my $client = $socket->accept) {
        sysread $client, my $request, 65536;
        select undef, undef, undef, 0.02 until -e $go;
        print $client "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: ",
            length $bytes, "\r\n\r\n", $bytes;
        close $client;
    }' "$www/slow.json" "$work/go" >"$work/held-port" &
await 60 test -s "$work/held-port" || give_up "a slow origin starts" "its port" "nothing"
configure_nginx <<END
        location = /slow.json { proxy_pass http://127.0.0.1:$(<"$work/held-port"); }
        location /turned-silent/ { proxy_pass http://127.0.0.1:$(<"$work/silent-port")/; }
END
start_nginx
configure <<END
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon

# -- one request for many

api_to() {
    api --get --data-urlencode "url=$2" --no-buffer --output "$1" --write-out '%{http_code}\n' \
        http://larder/v1/fetch >"$1.status"
}

waiting=()
for ((client = 1; client <= clients; client++)); do
    api_to "$work/client-$client" "$origin/slow.json" &
    waiting+=($!)
done
have_boarded() {
    (($(api http://larder/v1/stats | jq '.flights.joined') >= $1))
}
await 60 have_boarded "$((clients - 1))" || not_ok "all clients wait for one answer" \
    "$((clients - 1)) joined" "$(api http://larder/v1/stats | jq --compact-output .flights)"
touch "$work/go"
wait "${waiting[@]}"
nginx_has_logged
expect_equal "$clients clients make one request" 1 \
    "$(grep --count 'GET /slow.json' "$work/nginx/access.log")"
expect_equal "each of them has the answer" \
    "$clients snapshot network;end network $(jq --compact-output . "$www/slow.json" | sha256sum)" \
    "$(status=200
        for ((client = 1; client <= clients; client++)); do
            cp "$work/client-$client" "$work/body"
            printf '%s %s\n' "$(outline)" "$(jq --compact-output \
                'select(.type == "snapshot").entry.body' "$work/body" | sha256sum)"
        done | sort | uniq --count | sed 's/^ *//')"

# -- SIGTERM

# Cached while the origin still spoke; the URL is the same afterwards.
cached=$origin/turned-silent/currencies.json
sed -i "s#proxy_pass [^;]*;#alias $www/silent/;#" "$work/nginx/nginx.conf"
stop_nginx
start_nginx
fetch "$cached"
expect_equal "the origin speaks" "snapshot network;end network" "$(outline)"
request PUT "$(entry note:1)" --data-binary "a client's own"
jq --null-input '"\("x" * 200000)"' >"$work/large.json"
for ((number = 1; number <= 60; number++)); do
    request PUT "$(entry "large:$number")" --data-binary "@$work/large.json"
done
sed -i "s#alias [^;]*;#proxy_pass http://127.0.0.1:$(<"$work/silent-port")/;#" \
    "$work/nginx/nginx.conf"
stop_nginx
start_nginx

has_frames() {
    (($(grep --count . "$1") >= $2))
}
is_waiting() {
    (($(status_of .flights) >= $1))
}

api_to "$work/with-answer" "$cached" &
waiting=($!)
api_to "$work/without-answer" "$origin/turned-silent/unseen.json" &
waiting+=($!)
await 60 has_frames "$work/with-answer" 1 \
    || not_ok "the cached answer comes at once" "a frame" "$(cat "$work/with-answer")"
await 60 is_waiting 2 || not_ok "two fetches wait" 2 "$(status_of .flights)"
api --get --data-urlencode "url=$cached" --data follow=true --data policy=cache-only --no-buffer \
    --output "$work/followed" http://larder/v1/fetch &
waiting+=($!)
api --get --no-buffer --output "$work/watched" http://larder/v1/watch &
waiting+=($!)
# A client that would read its batch for a minute.
jq --null-input '{ids: [range(1; 61) | "large:\(.)"]}' \
    | api --limit-rate 200K --no-buffer --output "$work/batch" --data-binary @- \
        http://larder/v1/entries/batch &
waiting+=($!)
for stream in followed watched batch; do
    await 60 has_frames "$work/$stream" 1 \
        || not_ok "the stream '$stream' begins" "a frame" "nothing"
done
began=$SECONDS
end_daemon TERM
expect_equal "SIGTERM ends the daemon with status 0" 0 "$ended"
# A client that it would wait for is cut off after 5 s, and gets none of the answers below.
expect_at_most "without waiting for a silent origin" 20 $((SECONDS - began))
wait "${waiting[@]}"
status=$(<"$work/with-answer.status")
cp "$work/with-answer" "$work/body"
expect_equal "a stream gets its end frame" "snapshot cache stale;end shutdown" "$(outline)"
for stream in followed watched batch; do
    expect_equal "and so does the one '$stream'" "end shutdown" \
        "$(tail -n 1 "$work/$stream" | jq --raw-output '"\(.type) \(.outcome)"')"
done
expect_at_most "the batch stops on its way" 59 "$(grep --count snapshot "$work/batch")"
status=$(<"$work/without-answer.status")
cp "$work/without-answer" "$work/body"
expect_equal "a client without an answer gets a problem" "503 urn:larder:shutting-down" \
    "$(outline)"
if [[ -e $socket ]]; then
    not_ok "the socket is gone" "no $socket" "$(ls -l "$socket")"
else
    ok "the socket is gone"
fi

start_daemon
request GET "$(entry "$cached")"
expect_same_file "after a new start the fetched entry is there" "$www/currencies.json" "$work/body"
request GET "$(entry note:1)"
expect_equal "and the client's own" "200 a client's own" "$status $(cat "$work/body")"
fetch "$cached" --data policy=cache-only
expect_equal "and it can be fetched from the cache" "snapshot cache stale;end cache" "$(outline)"

# SIGTERM with idle connections and without any.
perl -MIO::Socket::UNIX -e '
    my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "$!";
    print "connected\n";
    $| = 1;
    read $socket, my $byte, 1;
    print "closed\n";' "$socket" >"$work/idle" &
idle=$!
has_connections() {
    (($(status_of .connections) >= 2))
}
await 60 has_connections || not_ok "an idle connection is seen" 2 "$(status_of .connections)"
end_daemon TERM
expect_equal "an idle connection does not hold up the end" 0 "$ended"
wait "$idle"
expect_equal "and is closed" closed "$(tail -n 1 "$work/idle")"
finish
