#!/usr/bin/env bash
# Writes to an entity by its key: they show in every answer that has it, offline too, each watcher
# of one is told once, and they are sent to the entity's own URL. What the origin refuses leaves
# what it said last, and neither crashes nor evictions lose what is to be sent.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

start_origin --honour-keys --close
configure <<END
origins:
  local:
    base_url: "$origin"
    allow_private: true
    normalize:
      by_type: true
      types:
        - {type: User, url: "/users/{id}"}
END
start_daemon

# user NAME: author 7 with this name.
user() { printf '{"type":"User","id":7,"name":"%s"}' "$1"; }
# article N NAME: with its author.
article() { printf '{"type":"Article","id":%s,"title":"t%s","author":%s}' "$1" "$1" "$(user "$2")"; }
# publish NAME: another device gives the author a name, and the articles show it.
publish() {
    store /users/7 "$(user "$1")"
    store /articles/1 "$(article 1 "$1")"
    store /articles/2 "$(article 2 "$1")"
}
# ask PATH: a fetch of the network.
ask() { fetch "$origin$1" --data policy=network-only; }
# write ID EFFECT [MEMBERS] [QUERY]: a modifier of User:7.
write() {
    local more=${3:-}
    modify "$(jq --null-input --compact-output --arg id "$1" --argjson effect "$2" \
        --argjson more "${more:-null}" \
        '{id: $id, changes: [{target: {id: "entity:local/User:7"}, effect: $effect}]} + $more')" "${4:-}"
}
# rename ID NAME [MEMBERS] [QUERY]
rename() { write "$1" "{\"type\": \"merge\", \"value\": {\"name\": \"$2\"}}" "${@:3}"; }
# entity [PARAMETERS]: what is shown of the author; its head is in the file `head`.
entity() {
    request GET "/v1/entries/entity:local/User:7?${1-}"
    if [[ $status == 200 ]]; then member 'tojson'; else printf '%s %s' "$status" "$(member .type)"; fi
}
# names [QUERY]: the author's, in each article and by himself.
names() {
    local query=${1-}
    printf '%s %s %s' "$(view /articles/1 "$query" | jq --raw-output .author.name)" \
        "$(view /articles/2 "$query" | jq --raw-output .author.name)" \
        "$(entity "${query#\?}" | jq --raw-output .name)"
}
run() {
    code=0
    "$bin/cachectl" --socket "$socket" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}

# watch FILE PARAMETER...: a stream into the file, in the background; of the fences, too.
watch() {
    local file=$1 options=()
    shift
    while (($# > 0)); do
        options+=(--data-urlencode "$1")
        shift
    done
    # An earlier watch has left its frames there.
    rm -f "$file"
    curl --silent --unix-socket "$socket" --get --no-buffer \
        --header 'Accept: application/jsonl' "${options[@]}" --data prefix=fence/ \
        --data types=put,delete --output "$file" http://larder/v1/watch &
    await 60 has "$file" '"type":' || give_up "a watch says where it begins" "a frame" "nothing"
}
has() { grep --quiet "$2" "$1"; }
echo 0 >"$work/fences"
# What the streams were told since the fence before; a put behind it says that it is all.
told() {
    local stream fence=$(($(<"$work/fences") + 1))
    echo "$fence" >"$work/fences"
    request PUT "/v1/entries/fence%2F$fence" --data .
    for stream in first second author; do
        await 60 has "$work/$stream" "\"id\":\"fence/$fence\"" \
            || not_ok "the watch of the $stream goes on" "fence/$fence" "$(<"$work/$stream")"
        jq --slurp --raw-output '
            [.[] | select(.type | IN("put", "delete"))]
            | [to_entries[] | select(.value.id // "" | startswith("fence/")) | .key] as $fences
            | .[($fences[-2] // -1) + 1:$fences[-1]]
            | [.[] | [.type, (.changed // [.id])[]] | join(" ")] | join(", ")' \
            "$work/$stream"
    done | paste --serial --delimiters ';'
}

author=entity:local/User:7
# thrice EVENT: it is what each of the three watchers is told.
thrice() { printf '%s %s;%s %s;%s %s' "$1" "$author" "$1" "$author" "$1" "$author"; }

# -- what is refused at once

refuse() {
    modify "{\"changes\": [{\"target\": $2, \"effect\": $3}]}"
    expect_equal "$1 is refused" "$4" "$status $(member .type)"
}
delete='{"type": "delete"}'
refuse "a key" '{"key": "User:7"}' "$delete" "400 urn:larder:unknown-member"
refuse "what is no entity's id" '{"id": "entity:User:7"}' "$delete" "400 urn:larder:bad-id"
refuse "an entity of an origin that is not there" '{"id": "entity:nobody/User:7"}' "$delete" \
    "404 urn:larder:no-such-origin"
refuse "what would make something else of an entity than an object" \
    '{"id": "entity:local/User:7"}' '{"type": "put", "value": [1]}' "422 urn:larder:bad-request"
refuse "an entity whose type's rule has no URL" '{"id": "entity:local/Article:1"}' "$delete" \
    "422 urn:larder:no-request"
refuse "an effect that says nothing to send" '{"id": "entity:local/User:7"}' \
    '{"type": "add", "value": {"/n": 1}}' "422 urn:larder:no-request"
modify '{"changes": [{"target": {"id": "entity:local/User:7"}, "effect": {"type": "delete"}},
    {"target": {"id": "'"$origin"'/users/7"}, "effect": {"type": "delete"}}],
    "request": {"method": "POST", "url": "'"$origin"'/x"}}'
expect_equal "so is an entity that stands in two changes, by its id and by its URL" \
    "400 urn:larder:bad-request" "$status $(member .type)"
request GET /v1/modifiers
expect_equal "and nothing of all that is in the queue" 0 "$(member '.items | length')"

# -- offline

publish Ada
ask /articles/1
ask /articles/2
watch "$work/first" "id=$origin/articles/1"
watch "$work/second" "id=$origin/articles/2"
watch "$work/author" id=entity:local/User:7
told >/dev/null
stop_origin
rename e-1 Countess
expect_equal "case 28: a write to an entity is accepted offline" "202 e-1 queued" \
    "$status $(member '"\(.id) \(.state)"')"
for number in 1 2; do
    expect_equal "case 28: article $number shows it" "$(article $number Countess)" \
        "$(view /articles/$number)"
    expect_equal "case 28: and that it is pending" "1 0 true e-1" \
        "$(marks) $(header Larder-Pending-Ids)"
done
expect_equal "case 28: so does the author's own route" "$(user Countess) 1 0 true" \
    "$(entity) $(marks)"
expect_equal "show=base is what the server said last" "Ada Ada Ada" "$(names '?show=base')"
expect_equal "each watcher is told once" "$(thrice put)" "$(told)"
fetch "$origin/articles/1" --data policy=cache-only
expect_equal "a fetch shows it, too" "1 e-1 Countess" "$(member '
    select(.type == "snapshot") | "\(.pending) \(.pending_ids[0]) \(.entry.body.author.name)"')"
rename e-1 Countess
expect_equal "the same again is the same modifier" "202 e-1" "$status $(member .id)"
rename e-1 Other
expect_equal "another one of its id is refused" "409 urn:larder:modifier-exists" \
    "$status $(member .type)"
expect_equal "its target and lane are the entity's" \
    "$author id:$author PATCH $origin/users/7" \
    "$(modifier e-1 '"\(.targets[0].id) \(.lanes[0]) \(.request.method) \(.request.url)"')"
expect_equal "with what it makes of it" "Ada Countess" \
    "$(modifier e-1 '.targets[0] | "\(.before.body.name) \(.after.body.name)"')"

# In flight while it is tried whether the origin is back.
run queue list --key User:7
expect_match "cachectl lists what is to be sent of an entity" \
    "^e-1"$'\t'"(queued|in_flight).*"$'\t'"PATCH"$'\t'"$origin/users/7" "$(<"$work/out")"
run queue list --key User:8
expect_equal "and of another nothing" "0|" "$code|$(<"$work/out")"
run queue list --lane id:entity:local/User:7 --json
expect_equal "a lane names it by its id, too" e-1 "$(jq --raw-output .id "$work/out")"
run queue show e-1
expect_match "cachectl queue show names the entity" 'target +entity:local/User:7' "$(<"$work/out")"
run inspect --key User:7 --diff
expect_equal "inspect --diff is base against view" '- /name "Ada"|+ /name "Countess"' \
    "$(paste --serial --delimiters '|' "$work/out")"
run inspect --key User:7 --explain
expect_match "inspect --explain shows each write" 'modifier +e-1, (queued|in_flight), merge' "$(<"$work/out")"

modify "{\"id\": \"e-9\", \"hold\": \"1h\", \"changes\": [{\"target\": {\"id\": \"$origin/users/9\"},
    \"effect\": {\"type\": \"put\", \"value\": {\"type\": \"User\", \"id\": 9}}}]}"
run ls "$origin/users/9"
expect_equal "ls has what only a write has made, by its URL" "$origin/users/9 unsent" \
    "$(cut --fields=1,5 --output-delimiter=' ' "$work/out")"
run ls --type User
expect_equal "and by its id" "$author known entity:local/User:9 unsent" \
    "$(cut --fields=1,5 "$work/out" | xargs)"
request GET /v1/entries --get --data sort=age --data-urlencode "prefix=$origin/users/9"
expect_equal "lists say that no server has said it" "modifier fetched local" \
    "$(member '.items[] | "\(.source) \(.kind) \(.origin)"')"
request DELETE /v1/modifiers/e-9
run ls "$origin/users/9"
expect_equal "taken back it is in no list" "0|" "$code|$(<"$work/out")"

# -- killed between accept and send, and evicted

end_daemon KILL
start_daemon
expect_equal "P-01: a kill loses nothing" "Countess Countess Countess" "$(names)"
request POST /v1/evict --data '{"ids": ["entity:local/User:7"]}'
expect_equal "case 24: what is to be written to is not evicted" "0 1" \
    "$(member '"\(.evicted) \(.skipped)"')"
request POST /v1/evict --data '{"all": true}'
expect_equal "case 24: nor with everything else" "$(user Countess) 1 0 true" "$(entity) $(marks)"

# -- the origin is back

run queue pause "$author"
expect_equal "cachectl pauses an entity's lane" "0 paused" "$code $(modifier e-1 '.marks[0]')"
start_origin --honour-keys --close
ask /articles/1
ask /articles/2
expect_equal "what the origin says meanwhile has the write on top of it" \
    "Countess Countess" "$(names | cut --delimiter=' ' --fields=1,2)"
run queue resume "id:$author"
expect_equal "resumed, it is sent and confirmed" confirmed "$(fate e-1)"
expect_equal "to the entity's own URL, once, under its id as the key" \
    'PATCH /users/7 e-1 application/merge-patch+json {"name":"Countess"}' \
    "$(effects 'select(.key) | "\(.method) \(.path) \(.key) \(.type) \(.body | tojson)"')"
expect_equal "it stays shown" "Countess Countess Countess" "$(names)"
expect_equal "as what the server said" "Countess Countess Countess" "$(names '?show=base')"
expect_equal "with nothing pending" 0 "$(header Larder-Pending)"
publish Countess
ask /articles/1
ask /articles/2
expect_equal "and after the next fetches" "Countess Countess Countess" "$(names)"

# -- refused

watch "$work/first" "id=$origin/articles/1"
watch "$work/second" "id=$origin/articles/2"
watch "$work/author" id=entity:local/User:7
told >/dev/null
refusal='"prefix": "/users/7", "method": "PATCH", "times": 1, "status": 403'
control "{$refusal, \"does\": \"hold\"}"
rename e-2 Wrong
arrives "a write is on its way" 1
expect_equal "and shows" "Wrong Wrong Wrong" "$(names)"
expect_equal "of which each watcher is told once" "$(thrice put)" "$(told)"
release answer
expect_equal "case 11: what is refused is failed" "failed refused" "$(fate e-2)"
expect_equal "case 11: all show what the server said last" "Countess Countess Countess" "$(names)"
expect_equal "case 11: of which each watcher is told once" "$(thrice put)" \
    "$(told)"
view /articles/1 >/dev/null
expect_equal "case 11: and that one failed" "0 1 true" "$(marks)"
entity >/dev/null
expect_equal "case 11: on the author's own route, too" "0 1 true" "$(marks)"
expect_equal "case 11: its dead letter names the entity" "$author 403" \
    "$(modifier e-2 '"\(.targets[0].id) \(.answer.status)"')"
control "{$refusal, \"does\": \"hold\"}"
rename e-3 Wrong
arrives "another one is on its way" 1
told >/dev/null
publish Lovelace
ask /articles/1
expect_equal "case 3: what the server says meanwhile shows under it" "Wrong Wrong Wrong" "$(names)"
expect_equal "case 3: as base" "Lovelace Lovelace Lovelace" "$(names '?show=base')"
expect_equal "case 3: of which nobody is told, as nothing else shows" ";;" "$(told)"
release answer
expect_equal "case 12: it is refused" "failed refused" "$(fate e-3)"
expect_equal "case 12: and all show what the server said meanwhile" "Lovelace Lovelace Lovelace" \
    "$(names)"
expect_equal "case 12: of which each watcher is told once" "$(thrice put)" \
    "$(told)"
"$bin/cachectl" --socket "$socket" watch --since "$(modifier e-1 .rev)" --key User:7 \
    >"$work/printed" &
printing=$!
line=$'\te-3\tfailed (refused)\tentity:local/User:7'
if await 60 has "$work/printed" "$line"; then
    ok "cachectl watch names the entity"
else
    not_ok "cachectl watch names the entity" "$line" "$(<"$work/printed")"
fi
kill "$printing"
run queue list --key User:7
expect_equal "both are dead letters" "e-2 failed e-3 failed" \
    "$(cut --fields=1,2 "$work/out" | xargs)"
request DELETE /v1/modifiers/e-2
request DELETE /v1/modifiers/e-3

# -- other effects

write e-4 "$delete" '{"hold": "1h"}'
expect_equal "a deleted entity is null in what shows it" "202 null null" \
    "$status $(view /articles/1 | jq .author) $(view /articles/2 | jq .author)"
expect_equal "and gone by itself" "410 urn:larder:deleted" "$(entity)"
expect_equal "of which each watcher is told once" "put $author;put $author;delete $author" "$(told)"
request DELETE /v1/modifiers/e-4
expect_equal "case 18: taken back, it is there again" "Lovelace Lovelace Lovelace" "$(names)"
modify "$(jq --null-input --arg url "$origin/articles/1" '{id: "e-5", changes: [
    {target: {id: $url}, effect: {type: "merge", value: {title: "both"}}},
    {target: {id: "entity:local/User:7"}, effect: {type: "merge", value: {name: "Both"}}}],
    request: {method: "POST", url: "\($url)/both", body: 1}, hold: "1h"}')"
expect_equal "one write changes an answer and an entity" "202 both Both Both" \
    "$status $(view /articles/1 | jq --raw-output '"\(.title) \(.author.name)"') $(
        view /articles/2 | jq --raw-output .author.name)"
request DELETE /v1/modifiers/e-5
ask /users/7
expect_equal "one target, one name: a write to the URL that answers the entity" "202 Twice Twice" \
    "$(merge e-6 /users/7 '{"name": "Twice"}' '{"hold": "1h"}' && printf '%s' "$status") $(
        names | cut --delimiter=' ' --fields=1,3)"
expect_equal "one target, one name: is one to the entity" "id:$author" \
    "$(modifier e-6 '.lanes[0]')"
request DELETE /v1/modifiers/e-6
expect_equal "taken back, all is as before" "$(names '?show=base')" "$(names)"
finish
