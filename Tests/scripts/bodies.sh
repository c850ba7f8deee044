#!/usr/bin/env bash
# Bodies of every kind and size come back byte for byte with bounded memory, and what is too large
# or malformed is refused with a clear answer (P-13).
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

# How much the daemon's memory may grow over bodies of 50 MB.
growth_kib_max=$((48 << 10))

configure_nginx </dev/null
start_nginx
configure <<END
cache: {max_entry_bytes: 52MiB}
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon

# -- small bodies, put by a client and fetched

printf '{\r\n  "a": [1, 2.50, "\\u00e9\\n"],\n\t"é": null\r\n}\n' >"$www/pretty.json"
printf 'grüße\nline two\n' >"$www/text.txt"
head -c 40000 /dev/urandom >"$www/binary.bin"
head -c 300000 /dev/urandom >"$www/larger.bin"
: >"$www/empty.bin"
printf '{"a": [1, 2' >"$www/broken.json"

for name in pretty.json text.txt binary.bin larger.bin empty.bin broken.json; do
    request PUT "$(entry "blob:$name")" --header 'Content-Type: application/x-any; a="b"' \
        --data-binary "@$www/$name"
    expect_equal "a put of $name is answered" 201 "$status"
    request GET "$(entry "blob:$name")"
    expect_equal "$name has the media type of the put" 'application/x-any; a="b"' \
        "$(header Content-Type)"
    expect_same_file "$name comes back byte for byte" "$www/$name" "$work/body"
    request HEAD "$(entry "blob:$name")"
    expect_equal "a head says the length of $name" "200 $(stat -c %s "$www/$name")" \
        "$status $(header Content-Length)"
    fetch "$origin/$name"
    expect_equal "a fetch of $name" "snapshot network;end network" "$(outline)"
    request GET "$(entry "$origin/$name")"
    expect_same_file "$name comes from the origin byte for byte" "$www/$name" "$work/body"
done

snapshot_of() {
    fetch "$origin/$1" --data policy=cache-only
    member "select(.type == \"snapshot\").entry | $2"
}

expect_equal "pretty JSON is inline, with a space for each line end" \
    "$(tr '\r\n' '  ' <"$www/pretty.json")" \
    "$(fetch "$origin/pretty.json" --data policy=cache-only
        sed -n 's/^.*"body"://; 1s/}}$//p' "$work/body")"
snapshot_of text.txt .body_b64 | base64 --decode >"$work/decoded"
expect_same_file "text is inline as base64" "$www/text.txt" "$work/decoded"
snapshot_of binary.bin .body_b64 | base64 --decode >"$work/decoded"
expect_same_file "binary is inline as base64" "$www/binary.bin" "$work/decoded"
snapshot_of broken.json .body_b64 | base64 --decode >"$work/decoded"
expect_same_file "what only says that it is JSON is inline as base64" "$www/broken.json" \
    "$work/decoded"
expect_equal "an empty body is inline as an empty text" '""' "$(snapshot_of empty.bin '.body_b64 | @json')"
expect_equal "more than 64 KiB are named" "$(entry "$origin/larger.bin")" \
    "$(snapshot_of larger.bin .body_href)"

# -- 50 MB

peak_kib() {
    awk '$1 == "VmHWM:" { print $2 }' "/proc/$daemon/status"
}

head -c 50000000 /dev/urandom >"$www/50MB.bin"
sum=$(sha256sum <"$www/50MB.bin")
before=$(peak_kib)
request PUT "$(entry blob:50MB)" --header 'Content-Type: application/octet-stream' \
    --upload-file "$www/50MB.bin"
expect_equal "a put of 50 MB is answered" 201 "$status"
expect_equal "50 MB come back" "$sum" "$(api "http://larder$(entry blob:50MB)" | sha256sum)"
expect_at_most "50 MB from a client take bounded memory" "$growth_kib_max" \
    $(($(peak_kib) - before))
fetch "$origin/50MB.bin"
expect_equal "a fetch of 50 MB" "snapshot network;end network" "$(outline)"
href=$(member 'select(.type == "snapshot").entry.body_href')
expect_equal "50 MB are named" "$(entry "$origin/50MB.bin")" "$href"
expect_equal "50 MB come from the origin" "$sum" "$(api "http://larder$href" | sha256sum)"
expect_at_most "50 MB from an origin take bounded memory" "$growth_kib_max" \
    $(($(peak_kib) - before))

# -- what is too large

head -c $((52 << 20)) /dev/zero >"$www/large.bin"
printf 'x' >>"$www/large.bin"
request PUT "$(entry blob:large)" --upload-file "$www/large.bin"
expect_equal "a put of more than max_entry_bytes is refused" "413 urn:larder:entry-too-large" \
    "$status $(member .type)"
request PUT "$(entry blob:large)" --header 'Transfer-Encoding: chunked' --upload-file - \
    <"$www/large.bin"
expect_equal "also without a length" "413 urn:larder:entry-too-large" "$status $(member .type)"
request GET "$(entry blob:large)"
expect_equal "and nothing of it is kept" 404 "$status"
fetch "$origin/large.bin"
expect_equal "an origin's answer of more than max_entry_bytes is refused" \
    "413 urn:larder:entry-too-large" "$(outline)"
head -c $((2 << 20)) /dev/zero | tr '\0' ' ' >"$work/spaces"
request POST /v1/fetch --header 'Content-Type: application/json' --data-binary "@$work/spaces"
expect_equal "a command of more than 1 MiB is refused" "413 urn:larder:body-too-large" \
    "$status $(member .type)"
request GET /v1/status --header "X-Long: $(head -c 70000 /dev/zero | tr '\0' x)"
expect_equal "a head of more than 64 KiB is refused" "431 urn:larder:head-too-large" \
    "$status $(member .type)"
expect_equal "and its connection is closed" close "$(header Connection | tr '[:upper:]' '[:lower:]')"

# -- the protocol

# Sends stdin to the socket as it is and prints what comes until the end.
raw() {
    perl -MIO::Socket::UNIX -e '
        my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "$!";
        local $SIG{ALRM} = sub { die "no end after 20 s\n" };
        alarm 20;
        local $/;
        $socket->print(scalar <STDIN>);
        $socket->flush;
        print scalar <$socket>;' "$socket"
}

get() {
    printf 'GET %s HTTP/1.1\r\nHost: larder\r\n%s\r\n' "$(entry "$1")" "${2:-}"
}

{
    get blob:text.txt
    get blob:none
    printf 'PUT %s HTTP/1.1\r\nHost: larder\r\nContent-Length: 5\r\n\r\nfirst' "$(entry blob:piped)"
    get blob:piped
    printf 'HEAD %s HTTP/1.1\r\nHost: larder\r\n\r\n' "$(entry blob:text.txt)"
    get blob:larger.bin $'Connection: close\r\n'
} | raw >"$work/piped"
expect_equal "pipelined requests are answered in their order" "200 404 201 200 200 200" \
    "$(grep --text --only-matching 'HTTP/1.1 [0-9]* ' "$work/piped" | cut -c 10-12 |
        paste --serial --delimiters ' ')"
tail -c 300000 "$work/piped" >"$work/last"
expect_same_file "the last of them is whole" "$www/larger.bin" "$work/last"

status=$(api --output /dev/null --output /dev/null --write-out '%{http_code} %{num_connects} ' \
    "http://larder$(entry blob:text.txt)" "http://larder$(entry blob:none)" \
    --next --silent --unix-socket "$socket" --request PUT --data-binary second \
    --output /dev/null --write-out '%{http_code} %{num_connects} ' \
    "http://larder$(entry blob:piped)" \
    --next --silent --unix-socket "$socket" --write-out ' %{num_connects}' \
    "http://larder$(entry blob:piped)")
expect_equal "a connection is kept for the next request" "200 1 404 0 204 0 second 0" "$status"

request DELETE /v1/status
expect_equal "a method that a route does not take is refused" "405 urn:larder:method-not-allowed" \
    "$status $(member .type)"
expect_match "and it says which ones it takes" "GET" "$(header Allow)"
request GET /v1/nothing
expect_equal "an unknown route is a problem" "404 urn:larder:not-found" "$status $(member .type)"
request GET '/v1/fetch?url=http%3A%2F%2Fx%2F&polcy=cache-only'
expect_equal "an unknown parameter is refused" "400 urn:larder:unknown-parameter" \
    "$status $(member .type)"
expect_match "by its name" "polcy" "$(member .detail)"
request GET '/v1/fetch?url=http://x/?a=1&b=2'
expect_equal "so is what follows a URL that was not encoded" "400 urn:larder:unknown-parameter" \
    "$status $(member .type)"
expect_match "with a hint" "data-urlencode" "$(member .hint)"
fetch_with '{"url": "http://x/", "polcy": "cache-only"}'
expect_equal "an unknown member is refused" "400 urn:larder:unknown-member" "$status $(member .type)"
expect_match "by its name as well" "polcy" "$(member .detail)"
fetch_with '{"url": '
expect_equal "a body that is not JSON is refused" "400 urn:larder:bad-request" \
    "$status $(member .type)"
request GET /v1/entries/a%00b
expect_equal "an id with a control character is refused" "400 urn:larder:bad-id" \
    "$status $(member .type)"
request PUT "$(entry "$origin/text.txt")" --data-binary x
expect_equal "a put under an origin's base URL is refused" "409 urn:larder:origin-id" \
    "$status $(member .type)"
printf 'nonsense\r\n\r\n' | raw >"$work/answer"
expect_match "what is no HTTP is answered with 400" '^HTTP/1.1 400 ' "$(head -n 1 "$work/answer")"
expect_equal "and the daemon lives" ok "$(status_of .state)"
finish
