#!/usr/bin/env bash
# Origins that compress, with real processes: nginx with gzip, and one that sends br, zstd, damaged
# and huge bodies, and that weakens its ETag where it compresses (S48, S49, S50).
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

if ! command -v python3 >/dev/null; then
    skip "origins that compress" "there is no python3"
    finish
fi

scripted=$(free_port)
configure_nginx <<END
        gzip on;
        gzip_types *;
        gzip_vary on;
        gzip_http_version 1.0;
        location /proxied/ {
            proxy_pass http://127.0.0.1:$scripted/;
            proxy_set_header Accept-Encoding "";
            gzip_min_length 1;
        }
END
start_nginx
: >"$work/asked"
python3 Tests/scripts/codings-origin.py "$scripted" "$work/asked" 2>"$work/origin.log" &
listens() { curl --silent --output /dev/null "http://127.0.0.1:$scripted/doc"; }
await 60 listens || give_up "the scripted origin starts" "it answers within 60 s" \
    "$(tail -n 5 "$work/origin.log")"
configure <<END
origins:
  nginx: {base_url: "$origin", allow_private: true}
  plain: {base_url: "http://localhost:$port", allow_private: true, fetch: {compression: false}}
  scripted: {base_url: "http://127.0.0.1:$scripted", allow_private: true}
END
start_daemon

# -- nginx with gzip

seq 1 100000 | jq --compact-output --slurp '{numbers: .}' >"$www/numbers.json"
size=$(stat -c %s "$www/numbers.json")
sent() {
    nginx_has_logged
    tail -n 1 "$work/nginx/access.log" | cut -d '"' -f 3 | tr --squeeze-repeats ' '
}

request GET /o/plain/numbers.json
expect_equal "with compression: false, nginx sends plain bytes (S48)" " 200 $size " "$(sent)"
expect_match "they have the ETag of nginx" '^"[0-9a-f]+-[0-9a-f]+"$' "$(header ETag)"
request GET /o/nginx/numbers.json --header 'Accept-Encoding: br;q=0, gzip'
expect_same_file "the body of gzip comes as plain bytes (S48, S49)" "$www/numbers.json" "$work/body"
expect_equal "without the fields of a coding (S49)" "200 $size  " \
    "$status $(header Content-Length) $(header Content-Encoding) $(header Larder-Coding)"
read -r code count _ <<<"$(sent)"
expect_equal "nginx was asked once" 200 "$code"
expect_at_most "nginx sent less than half of the bytes" "$((size / 2))" "$count"
tag=$(header ETag)
expect_match "the ETag is the daemon's own (S50)" '^"larder-[0-9a-f]{32}"$' "$tag"
request GET /o/nginx/numbers.json --range 1000-1999 --header "If-Range: $tag" \
    --header 'Cache-Control: only-if-cached'
tail -c +1001 "$www/numbers.json" | head -c 1000 >"$work/part"
expect_equal "a range of it has a part of the plain bytes (S50)" \
    "206 bytes 1000-1999/$size" "$status $(header Content-Range)"
expect_same_file "the part is the plain bytes" "$work/part" "$work/body"
request GET /o/nginx/numbers.json --header 'Cache-Control: no-cache'
expect_equal "nginx confirms its own ETag with 304 (S50)" " 304 0 " "$(sent)"
expect_equal "the client's ETag is the same" "200 $tag" "$status $(header ETag)"
request GET "$(entry "$origin/numbers.json")"
expect_equal "the id is the URL, without a variant (S49)" "200 $tag" "$status $(header ETag)"

# -- br, zstd, damaged bytes, a bomb

asked() { tail -n "$1" "$work/asked"; }
for coding in br zstd; do
    request GET "/o/scripted/$coding"
    expect_equal "a body in $coding comes as plain bytes (S48)" '200 {"a":1}' \
        "$status $(cat "$work/body")"
done
expect_equal "the origin is asked for three codings (S48)" \
    "GET /zstd Accept-Encoding=gzip,br,zstd If-Match=- If-None-Match=-" "$(asked 1)"
request GET /o/scripted/broken
expect_equal "damaged bytes are asked for again as plain ones (S48)" "200 plain bytes" \
    "$status $(cat "$work/body")"
expect_equal "the second request accepts no coding" \
    "gzip,br,zstd identity" "$(asked 2 | sed 's/.*Encoding=\([^ ]*\).*/\1/' | paste --serial -d ' ')"
request GET /o/scripted/bomb
expect_equal "a body that expands over 1,000 times is refused (S48)" \
    "502 urn:larder:bad-answer" "$status $(member .type)"

# -- a write of a row that came compressed

# write VALUE [URL]
write() {
    local url=${2:-http://127.0.0.1:$scripted/doc}
    request POST '/v1/modifiers?wait=20s' --data "{\"changes\": [{\"target\":
        {\"id\": \"$url\"}, \"effect\": {\"type\": \"merge\", \"value\": $1}}]}"
}
request GET /o/scripted/doc
first=$(header ETag)
expect_match "the document came compressed" '^"larder-' "$first"
write '{"title": "mine"}'
expect_equal "a write of it is confirmed (S50)" confirmed "$(member '.items[0].state // .state')"
expect_equal "after a read of the plain bytes it has their strong ETag (S50)" \
    'GET /doc Accept-Encoding=identity If-Match=- If-None-Match=-
PATCH /doc Accept-Encoding=identity If-Match="1" If-None-Match=-' "$(grep -B 1 PATCH "$work/asked")"

request GET /o/scripted/doc --header 'Cache-Control: no-cache'
curl --silent --request POST "http://127.0.0.1:$scripted/doc"
write '{"title": "mine too"}'
expect_equal "a write over another device's change is a conflict (S50)" conflict \
    "$(member '.items[0].state // .state')"

request GET /o/scripted/doc --header 'Cache-Control: no-cache'
tag=$(header ETag)
api --output /dev/null --request DELETE "http://larder/v1/modifiers/$(api \
    'http://larder/v1/modifiers?state=conflict' | jq --raw-output '.items[0].id')"
request GET /o/scripted/doc --header 'Cache-Control: no-cache'
tag=$(header ETag)
request PATCH /o/scripted/doc --header "If-Match: $tag" --header 'Content-Type: application/json' \
    --data '{"title": "passed"}'
expect_equal "a passed write has the origin's ETag in place of the daemon's (S50)" 204 "$status"
expect_match "it was sent with the strong ETag" 'PATCH /doc .* If-Match="3" ' \
    "$(grep PATCH "$work/asked" | tail -n 1)"
request PATCH /o/scripted/doc --header "If-Match: $tag" --header 'Content-Type: application/json' \
    --data '{"title": "late"}'
expect_equal "a passed write with the ETag of other bytes is refused (S50)" \
    "412 urn:larder:precondition-failed" "$status $(member .type)"
# -- the same document behind nginx, which compresses it and weakens its ETag
proxied=$origin/proxied/doc
version() { curl --silent "http://127.0.0.1:$scripted/doc" | jq .version; }
expect_match "nginx weakens the ETag where it compresses" '^W/"3"$|^W/"4"$' "$(
    curl --silent --output /dev/null --dump-header - --header 'Accept-Encoding: gzip' "$proxied" \
        | tr -d '\r' | sed -n 's/^etag: //Ip')"
request GET /o/nginx/proxied/doc
before=$(version)
write '{"title": "through nginx"}' "$proxied"
expect_equal "a write through it is confirmed (S50)" confirmed \
    "$(member '.items[0].state // .state')"
expect_equal "it was sent with the strong ETag" "If-Match=\"$before\"" \
    "$(grep PATCH "$work/asked" | tail -n 1 | grep -o 'If-Match=[^ ]*')"
request GET /o/nginx/proxied/doc --header 'Cache-Control: no-cache'
curl --silent --request POST "http://127.0.0.1:$scripted/doc"
before=$(version)
write '{"title": "late"}' "$proxied"
expect_equal "a write over another device's change is a conflict there, too (S50)" \
    "conflict $before" "$(member '.items[0].state // .state') $(version)"

finish
