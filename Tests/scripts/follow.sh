#!/usr/bin/env bash
# A stream that follows an entry shows what other clients bring, as JSON Lines and as server-sent
# events; SIGTERM ends it with its last frame; and a batch answers several ids at once.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

printf '{"n":1}\n' >"$www/a.json"
configure_nginx </dev/null
start_nginx
configure <<END
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon

follow() {
    api --get --data-urlencode "url=$origin/a.json" --data follow=true --no-buffer \
        --header "Accept: $2" --output "$1" --write-out '%{http_code} %{content_type}\n' \
        http://larder/v1/fetch >"$1.status"
}
has_lines() {
    (($(grep --count "$2" "$1") >= $3))
}

# -- further views

follow "$work/lines" '*/*' &
following=($!)
await 60 has_lines "$work/lines" snapshot 1 || not_ok "the first view comes" 1 "none"
follow "$work/events" 'text/event-stream, */*;q=0.1' &
following+=($!)
await 60 has_lines "$work/events" '^event: unchanged' 1 || not_ok "so it does as events" 1 "none"

printf '{"n":22}\n' >"$www/a.json"
fetch "$origin/a.json" --data policy=network-only
expect_equal "another client brings a new view" "snapshot network;end network" "$(outline)"
for stream in lines events; do
    await 60 has_lines "$work/$stream" '"body":{"n":22}' 1 \
        || not_ok "the $stream of a follower show it" '{"n":22}' "$(cat "$work/$stream")"
done
rm "$www/a.json"
fetch "$origin/a.json" --data policy=network-only
for stream in lines events; do
    await 60 has_lines "$work/$stream" '"type":"deleted"' 1 \
        || not_ok "the $stream of a follower tell its deletion" deleted "$(cat "$work/$stream")"
done

# -- SIGTERM

end_daemon TERM
expect_equal "SIGTERM ends the daemon with status 0" 0 "$ended"
wait "${following[@]}"
expect_equal "the lines are whole, and the last is the end" \
    "200 application/jsonl snapshot snapshot deleted end" \
    "$(<"$work/lines.status") $(jq --raw-output 'select(.type != "heartbeat").type' \
        "$work/lines" | xargs)"
expect_equal "the revisions rise" "sorted" \
    "$(jq --raw-output '.rev // empty' "$work/lines" | sort --numeric-sort --check && echo sorted)"
expect_equal "the events are whole, and the last is the end" \
    "200 text/event-stream snapshot unchanged snapshot deleted end" \
    "$(<"$work/events.status") $(sed -n 's/^event: //p' "$work/events" | xargs)"
expect_equal "the data of each event is the JSON of its type" \
    "$(sed -n 's/^event: //p' "$work/events" | xargs)" \
    "$(sed -n 's/^data: //p' "$work/events" | jq --raw-output .type | xargs)"

# -- a batch

start_daemon
request PUT "$(entry note:1)" --data-binary "a client's own"
request POST /v1/entries/batch --header 'Content-Type: application/json' \
    --data "$(jq --null-input --compact-output --arg url "$origin/a.json" \
        '{ids: ["nothing", "note:1", $url]}')"
expect_equal "a batch answers each id in its order" "200 miss snapshot deleted end" \
    "$status $(jq --raw-output .type "$work/body" | xargs)"
finish
