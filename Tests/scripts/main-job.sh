#!/usr/bin/env bash
# The main job on real input: nginx serves Debian's iso-codes with its own ETags, the daemon stands
# before it, curl asks.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

iso=/usr/share/iso-codes/json
[[ -f $iso/iso_4217.json ]] || give_up "iso-codes is there" "$iso/iso_4217.json" "no such file"
cp --preserve=timestamps "$iso"/iso_*.json "$www"
# Larger than what stands inline in a frame.
jq --slurp . "$iso/iso_639-3.json" "$iso/iso_639-3.json" >"$www/big.json"

# While the file portal is there, a page stands in for every answer.
configure_nginx <<END
        if (-f $work/portal) { rewrite ^ /page.json last; }
        location = /fresh.json { alias $www/iso_15924.json; expires 1h; }
        location = /moved.json { return 302 /iso_4217.json; }
        location = /elsewhere.json { return 302 http://elsewhere.example/iso_4217.json; }
        location = /page.json { types {} default_type text/html; return 200 "<html>Sign in</html>"; }
        location = /refused.json { types {} default_type text/plain; return 403 "not today"; }
END
start_nginx
configure <<END
origins:
  iso: {base_url: "$origin", allow_private: true, fetch: {network_wait: 60s}}
END
start_daemon

origin_state() {
    status_of '.origins[] | select(.name == "iso") | .state'
}

currencies=$origin/iso_4217.json

# Twice

expect_equal "an origin that nobody has asked is unknown" unknown "$(origin_state)"
fetch "$currencies"
expect_equal "a first fetch gives what the network has" \
    "snapshot network;end network" "$(outline)"
expect_equal "frames come as JSON Lines" application/jsonl "$(header Content-Type)"
expect_equal "an inline body is the origin's JSON" \
    "$(jq --compact-output --sort-keys . "$iso/iso_4217.json")" \
    "$(jq --compact-output --sort-keys 'select(.type == "snapshot").entry.body' "$work/body")"
expect_equal "a frame is one line" 2 "$(grep -c . "$work/body")"
etag=$(curl --silent --head "$currencies" | sed -n 's/^ETag: *\(.*\)\r$/\1/Ip')
expect_equal "a snapshot has the origin's ETag" "$etag" \
    "$(member 'select(.type == "snapshot").entry.etag')"
request GET "$(entry "$currencies")"
expect_equal "an entry is there by its URL" 200 "$status"
expect_same_file "an entry has the origin's bytes" "$iso/iso_4217.json" "$work/body"
expect_equal "an entry has the origin's ETag" "$etag" "$(header ETag)"
expect_equal "an origin that answers is online" online "$(origin_state)"

fetch "$currencies"
expect_equal "a second fetch gives the cached answer, then that it is unchanged" \
    "snapshot cache stale;unchanged 304;end unchanged" "$(outline)"
expect_equal "what is unchanged has the revision of what is cached" \
    "$(member 'select(.type == "snapshot").rev')" "$(member 'select(.type == "unchanged").rev')"
nginx_has_logged
expect_equal "the origin was asked whether it changed" 304 \
    "$(awk '$7 == "/iso_4217.json" { code = $9 } END { print code }' "$work/nginx/access.log")"
fetch "$origin/fresh.json"
fetch "$origin/fresh.json"
expect_equal "within its max-age a cached answer is not stale" \
    "snapshot cache;unchanged 304;end unchanged" "$(outline)"

# A change

jq '.["4217"][0].name = "changed"' "$iso/iso_4217.json" >"$www/iso_4217.json"
fetch "$currencies"
expect_equal "a change gives the cached answer, then the network's" \
    "snapshot cache stale;snapshot network;end network" "$(outline)"
expect_equal "the two differ as the files do" "[\"$(jq --raw-output '.["4217"][0].name' \
    "$iso/iso_4217.json")\",\"changed\"]" "$(jq --slurp --compact-output \
    '[.[] | select(.type == "snapshot").entry.body["4217"][0].name]' "$work/body")"
request GET "$(entry "$currencies")"
expect_same_file "an entry has the new bytes" "$www/iso_4217.json" "$work/body"

# Large bodies

fetch "$origin/big.json"
expect_equal "a large body comes" "snapshot network;end network" "$(outline)"
href=$(member 'select(.type == "snapshot").entry.body_href')
expect_equal "JSON over 1 MiB is named, not shown" "$(entry "$origin/big.json")" "$href"
request GET "$href"
expect_same_file "a large entry has the origin's bytes" "$www/big.json" "$work/body"
fetch "$origin/iso_639-3.json"
expect_equal "JSON of 855 KiB stands in its frame" \
    "$(jq --compact-output . "$iso/iso_639-3.json" | sha256sum)" \
    "$(jq --compact-output 'select(.type == "snapshot").entry.body' "$work/body" | sha256sum)"
request GET "$(entry "$origin/iso_639-3.json")"
expect_same_file "its entry has the origin's bytes" "$iso/iso_639-3.json" "$work/body"

# Policies, redirects, refusals

fetch "$currencies" --data policy=network-first
expect_equal "network-first gives the network's answer alone" \
    "snapshot network;end network" "$(outline)"
fetch "$currencies" --data policy=cache-only
expect_equal "cache-only gives the cached answer alone" "snapshot cache stale;end cache" "$(outline)"
fetch "$origin/iso_15924.json" --data policy=cache-only
expect_equal "cache-only with nothing there is a miss" "404 urn:larder:miss" "$(outline)"
fetch "$origin/moved.json"
expect_equal "a redirect within the host is followed" "snapshot network;end network" "$(outline)"
request GET "$(entry "$origin/moved.json")"
expect_same_file "it is kept under the id that was asked for" "$www/iso_4217.json" "$work/body"
fetch "$origin/elsewhere.json"
expect_equal "one URL's redirect to another host is refused" \
    "502 urn:larder:redirect-refused" "$(outline)"
expect_equal "it says nothing of the origin" online "$(origin_state)"
fetch http://elsewhere.example/x.json
expect_equal "an unknown origin is refused" "403 urn:larder:unknown-origin" "$(outline)"
expect_match "the refusal says how to add it" \
    "cachectl origin add elsewhere.example http://elsewhere.example" "$(member .hint)"
fetch "$origin/refused.json"
expect_equal "what the origin refuses is told with its status" \
    "502 urn:larder:origin-status 403 not today" \
    "$(outline) $(member .origin_status) $(member .body)"
as_json() {
    fetch_with "{\"url\": \"$1\", \"headers\": {\"Accept\": \"application/json\"}}"
}
as_json "$origin/page.json"
expect_equal "one URL's HTML where JSON was asked for cannot be used" \
    "502 urn:larder:bad-answer" "$(outline)"
expect_equal "nor does that say anything of the origin" online "$(origin_state)"
touch "$work/portal"
as_json "$origin/unseen.json"
expect_equal "a page for every path is a captive portal's" \
    "502 urn:larder:captive" "$(outline)"
request GET "$(entry "$origin/unseen.json")"
expect_equal "a portal's answer is not kept" "404 urn:larder:miss" "$status $(member .type)"
expect_equal "an origin behind a portal is captive" captive "$(origin_state)"
expect_equal "status says what to do" \
    "degraded a captive portal answers for the origin 'iso': sign in to the network" \
    "$(status_of '"\(.state) \(.warnings | join("; "))"')"
rm "$work/portal"
fetch "$currencies"
expect_equal "an answer of its own makes it online again" online "$(origin_state)"

# A deletion

cp "$iso/iso_3166-3.json" "$www/gone.json"
fetch "$origin/gone.json"
rm "$www/gone.json"
fetch "$origin/gone.json"
expect_equal "a 404 after a cached answer says that it was deleted" \
    "snapshot cache stale;deleted 404;end deleted" "$(outline)"
request GET "$(entry "$origin/gone.json")"
expect_equal "what was deleted is gone, not missing" "410 urn:larder:deleted" \
    "$status $(member .type)"
fetch "$origin/gone.json"
expect_equal "asked again, it is a problem" "404 urn:larder:deleted" "$(outline)"

# No network

stop_nginx
fetch "$currencies"
expect_equal "without the network the cached answer comes, then the error" \
    "snapshot cache stale;problem unreachable;end error" "$(outline)"
expect_equal "the cached answer is the whole one" "$(jq --compact-output . "$www/iso_4217.json")" \
    "$(jq --compact-output 'select(.type == "snapshot").entry.body' "$work/body")"
expect_equal "an origin without a connection is offline" offline "$(origin_state)"
fetch "$origin/iso_3166-1.json"
expect_equal "a miss is a problem" "502 urn:larder:unreachable" "$(outline)"
expect_equal "a problem has its media type" application/problem+json "$(header Content-Type)"
expect_equal "a problem says whether to try again" true "$(member .retryable)"
fetch "$currencies" --data policy=network-first
expect_equal "network-first falls back to the cached answer" \
    "snapshot cache stale;problem unreachable;end error" "$(outline)"
request GET "$(entry "$origin/gone.json")"
expect_equal "a deletion is still known" 410 "$status"

start_nginx
fetch "$currencies"
expect_equal "with the network back it is unchanged" \
    "snapshot cache stale;unchanged 304;end unchanged" "$(outline)"
expect_equal "the origin is online again" online "$(origin_state)"
expect_equal "nothing is wrong with the daemon" ok "$(status_of .state)"

end_daemon TERM
expect_equal "the daemon ends in peace" 0 "$ended"
finish
