#!/usr/bin/env bash
# Credentials that a user gives: which requests carry them, what waits for them, who may see them,
# who renews them; and no secret in any output or file except the row of the credential (case 23).
# Requests of another account never carry them (case 30).
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

start_origin --honour-keys
random() { head -c 18 /dev/urandom | base64 | tr -d '+/='; }
first="Bearer $(random)"
second="Bearer $(random)"
outputs=$work/outputs
mkdir "$outputs"
step=0

# write_configuration [KEYS]: further keys of the origin.
write_configuration() {
    configure <<END
origins:
  local: {base_url: "$origin", allow_private: true${1:+, $1}}
log: {level: debug, format: json}
END
}

# keeps NAME COMMAND…: keeps all that a command says, for the search at the end.
keeps() {
    step=$((step + 1))
    "${@:2}" >"$outputs/$step.$1" 2>&1
}
# keeps_export: keeps what an export of the waiting writes says and writes, too.
keeps_export() {
    keeps export "$bin/larderd" --export-unsent --config "$config"
    mv "$work/state/unsent.jsonl" "$outputs/$step.unsent"
}
cachectl() { "$bin/cachectl" --socket "$socket" "$@"; }
# login VALUE [options]: by stdin.
login() {
    local value=$1
    shift
    printf '%s\n' "$value" | cachectl origin login local "$@"
}
# credential [FILTER]: what the API says of the credential.
credential() {
    api http://larder/v1/origins/local/credential | tee "$outputs/credential.$RANDOM" \
        | jq --raw-output "$1"
}
# Whether the origin was asked with a value; asked METHOD PATH VALUE.
carried() {
    # Variables of jq.
    # shellcheck disable=SC2016
    received --arg path "$2" --arg method "$1" \
        'select(.path == $path and .method == $method) | .authorization // "none"' | tail -n 1
}

write_configuration
start_daemon

# -- reads and writes carry it

expect_equal "without a credential there is none" "null null false 0" \
    "$(credential '[.source, .header, .refused, .waiting] | map(tostring) | join(" ")')"
store /r '{"n": 1}'
fetch "$origin/r"
expect_equal "a read carries none then" none "$(carried GET /r)"
keeps login login "$first"
expect_equal "it says which header, and not the value" "user Authorization" \
    "$(credential '[.source, .header] | join(" ")')"
fetch "$origin/r" --data policy=network-only
expect_equal "a read carries it" "$first" "$(carried GET /r)"
keeps fetch cat "$work/body" "$work/head"
store /w/0 '{"n": 0}'
merge w-1 /w/0 '{"n": 1}'
expect_equal "a write is confirmed" confirmed "$(fate w-1)"
expect_equal "and carries it" "$first" "$(carried PATCH /w/0)"

# -- the server takes it no more: one at a time, and none after three

control "$(jq --null-input --compact-output --arg value "$second" \
    '{prefix: "/w", method: "PATCH", status: 401, unless_authorization: $value}')"
api --no-buffer --get --header 'Accept: application/jsonl' --data-urlencode types=auth,modifier \
    --output "$outputs/watch" --max-time 900 http://larder/v1/watch &
await 60 grep --quiet '"type":' "$outputs/watch"
for number in 1 2 3 4 5; do
    store "/w/$number" '{"n": 0}'
    merge "x-$number" "/w/$number" '{"n": 1}'
    ((number > 3)) || has_state "write $number waits for a credential" "x-$number" auth_wait
done
has_state "after three refusals the next write is not sent" x-4 queued
expect_equal "as it waits for a credential of the origin" "credential local" \
    "$(modifier x-5 '[.waiting_for.reason, .waiting_for.name] | join(" ")')"
expect_equal "none of them was counted" "0 0 0" \
    "$(for number in 1 2 3; do modifier "x-$number" .attempts; done | xargs)"
expect_equal "the credential counts as refused, and five writes wait" "true 5" \
    "$(credential '[.refused, .waiting] | map(tostring) | join(" ")')"
keeps status cachectl status
keeps statusjson cachectl status --json
expect_match "status names the command" "cachectl origin login" "$(cat "$outputs"/*.status)"
keeps show cachectl queue show x-1
expect_match "and so does the write, with its origin" "cachectl origin login local" \
    "$(cat "$outputs"/*.show)"
for output in 'queue list' 'queue list --json' 'origin list --json' 'stats --json' doctor; do
    # The words of a command.
    # shellcheck disable=SC2086
    keeps "list" cachectl $output
done
keeps metrics api http://larder/v1/stats
keeps explain cachectl inspect "$origin/w/1"
keeps check api --request POST http://larder/v1/check
keeps_export
expect_equal "an export has all five" "x-1 x-2 x-3 x-4 x-5" \
    "$(jq --raw-output .id "$outputs/$step.unsent" | xargs)"

# -- another one sends all

keeps relogin login "$second"
for number in 1 2 3 4 5; do
    expect_equal "write $number is sent with the new one" confirmed "$(fate "x-$number")"
done
expect_equal "which the last one carried" "$second" "$(carried PATCH /w/5)"
expect_match "the watch says needed and resumed" 'needed.*resumed' \
    "$(jq --raw-output 'select(.type == "auth") | .state' "$outputs/watch" | xargs)"

# -- a secret in a write is refused

modify "$(jq --null-input --compact-output --arg id "$origin/w/1" --arg value "$first" \
    '{id: "bad", changes: [{target: {id: $id}, effect: {type: "merge", value: {n: 2}}}],
      request: {method: "PATCH", url: $id, headers: {"X-Api-Key": $value}}}')"
expect_match "a secret header of a write is refused, and names the command" \
    "^400 .*cachectl origin login local" "$status $(member .hint)"
keeps refused cat "$work/body"
request PUT /v1/origins/local/credential --header 'Content-Type: application/json' \
    --data "{\"value\": \"$first\", \"valu"
keeps badjson cat "$work/body"
request PUT /v1/origins/local/credential --header 'Content-Type: application/json' \
    --data "{\"value\": [\"$first\"]}"
keeps badtype cat "$work/body"

# -- and so it is in a raw write that waits; one that is passed on has the account's, or its own

store /n '{"n": 0}'
# patch_raw [curl's options]
patch_raw() {
    request PATCH /o/local/n --header 'Content-Type: application/merge-patch+json' \
        --data '{"n": 1}' "$@"
    keeps raw cat "$work/body" "$work/head"
}
patch_raw --header 'Prefer: respond-async' --header "Authorization: $first"
expect_match "a raw write that waits has no Authorization, and its problem names the command" \
    "^400 .*cachectl origin login" "$status $(member .hint)"
patch_raw --header "Authorization: $first"
expect_equal "nor has one that is passed on, if the account has a credential" 400 "$status"
expect_equal "none of them left" none "$(received 'select(.path == "/n" and .method == "PATCH") |
    .method' | grep . || echo none)"
control '{"prefix": "/n", "method": "PATCH", "status": 401, "times": 1}'
patch_raw
expect_equal "a raw write is passed on with the account's, and the refusal is the origin's" \
    "401 $second" "$status $(carried PATCH /n)"
patch_raw
expect_equal "so is the answer" "200 $second" "$status $(carried PATCH /n)"
patch_raw --header 'Larder-Account: work' --header "Authorization: $first"
expect_equal "an account without a credential may have its own in the request" "200 $first" \
    "$status $(carried PATCH /n)"

# -- programs renew it, one at a time

fourth="Bearer $(random)"
renewal=http://larder/v1/origins/local/credential/renewal
# waits NAME: a program that waits for the order; its process id is in `program`.
waits() {
    curl --silent --no-buffer --unix-socket "$socket" --request POST \
        --output "$outputs/renewal.$1" "$renewal" &
    program=$!
}
has_order() { grep --quiet '"lease"' "$outputs/renewal.$1"; }
# gives NAME VALUE [MEMBERS]: sets a credential under the lease of a program.
gives() {
    local lease more=${3:-}
    lease=$(jq --raw-output .lease "$outputs/renewal.$1")
    request PUT /v1/origins/local/credential --header 'Content-Type: application/json' \
        --data "$(jq --null-input --compact-output --arg value "$2" --arg lease "$lease" \
            --argjson more "${more:-null}" '{value: $value, lease: $lease} + $more')"
    cp "$work/body" "$outputs/gives.$RANDOM"
}

expect_equal "a wait has its time" 204 \
    "$(api --request POST --output /dev/null --write-out '%{http_code}' "$renewal?wait=0ms")"
waits one
first_program=$program
waits two
second_program=$program
store /q '{"n": 1}'
control "$(jq --null-input --compact-output --arg value "$fourth" \
    '{prefix: "/q", status: 401, unless_authorization: $value}')"
fetch "$origin/q" --data policy=network-only
keeps readrefused cat "$work/body" "$work/head"
expect_match "a refused read names the command" "^502 .*cachectl origin login local," \
    "$status $(member .hint)"
await 60 grep --quiet '"lease"' "$outputs/renewal.one" "$outputs/renewal.two"
expect_equal "a refused read gives one program the order" 1 \
    "$(cat "$outputs"/renewal.* | grep --count '"reason":"refused"')"
owner=one next=two
if ! has_order one; then
    owner=two next=one
    read -r first_program second_program <<<"$second_program $first_program"
fi
kill -KILL "$first_program"
wait "$first_program" 2>/dev/null || :
if await 60 has_order "$next"; then
    ok "the other program has it once the first is dead"
else
    not_ok "the other program has it once the first is dead" "an order" "none"
fi
gives "$owner" "$first"
expect_equal "the lease of the dead program is over" "409 urn:larder:lease-over" \
    "$status $(member .type)"
gives "$next" "$fourth"
expect_equal "the other program sets the credential" 200 "$status"
wait "$second_program"
fetch "$origin/q" --data policy=network-only
expect_equal "which a read carries" "$fourth" "$(carried GET /q)"
waits three
request PUT /v1/origins/local/credential --header 'Content-Type: application/json' \
    --data "{\"value\": \"$fourth\", \"expires\": \"$(date --utc --date '+6 seconds' +%FT%TZ)\"}"
await 60 has_order three
expect_equal "a credential that expires gives the order" expiring \
    "$(jq --raw-output .reason "$outputs/renewal.three")"
gives three "$second"
wait "$program"
expect_equal "and counts as taken then" "user false" \
    "$(credential '[.source, .refused] | map(tostring) | join(" ")')"

# -- a write that fails permanently, and what is told of it

control '{"prefix": "/w", "method": "PATCH", "status": 422, "times": 1, "body": {"no": true}}'
merge z-1 /w/1 '{"n": 9}'
expect_equal "a refused write is a dead letter" failed "$(fate z-1 | cut -d ' ' -f 1)"
for path in 'modifiers?state=failed' 'modifiers?state=all' modifiers/z-1 entries lanes pins usage \
    status stats origins origins/local 'watch?initial=true&timeout=0ms'; do
    keeps api api --header 'Accept: application/json' "http://larder/v1/$path"
done
for output in 'queue list --settled' 'queue show z-1' 'queue show x-1' ls df 'ls --json' \
    'origin check local' 'origin check local --json'; do
    # The words of a command.
    # shellcheck disable=SC2086
    keeps output cachectl $output
done
expect_equal "each of them says something" "" "$(find "$outputs" -name '*.api' -empty)"

# -- restart, reload, logout

end_daemon TERM
start_daemon
fetch "$origin/r" --data policy=network-only
expect_equal "a restart keeps it" "$second" "$(carried GET /r)"
keeps reload cachectl reload --json
keeps config "$bin/larderd" --print-config --config "$config"
store /w/6 '{"n": 0}'
cachectl origin offline local
merge y-1 /w/6 '{"n": 1}'
keeps logout cachectl origin logout local
expect_match "logout says how many writes wait" "local: 1 write waits" "$(cat "$outputs"/*.logout)"
cachectl origin online local
has_state "a write is not sent without the credential" y-1 auth_wait
expect_equal "nothing of it left" none "$(received 'select(.path == "/w/6" and .method == "PATCH") |
    .method' | grep . || echo none)"
printf '%s\n' "$second" >"$work/secret"
keeps filelogin cachectl origin login local --file "$work/secret"
rm "$work/secret"
expect_equal "and goes out once the user is logged in again" confirmed "$(fate y-1)"

# -- a terminal is asked, and shows nothing of the answer

third="Bearer $(random)"
if command -v script >/dev/null; then
    mkfifo "$work/keys"
    script --quiet --return --flush --log-out /dev/null --command \
        "$(printf '%q ' "$bin/cachectl" --socket "$socket" origin login local)" \
        >"$outputs/terminal" <"$work/keys" &
    asked=$!
    exec 3>"$work/keys"
    await 60 grep --quiet 'Authorization for local: ' "$outputs/terminal"
    printf '%s\n' "$third" >&3
    code=0
    wait "$asked" || code=$?
    exec 3>&-
    expect_equal "login asks on a terminal" "0 user" "$code $(credential .source)"
    expect_equal "which does not show the answer" 0 \
        "$(grep --count --fixed-strings "${third#Bearer }" "$outputs/terminal")"
    fetch "$origin/r" --data policy=network-only
    expect_equal "that is the credential then" "$third" "$(carried GET /r)"
    script --quiet --return --log-out /dev/null --command \
        "$(printf '%q ' "$bin/cachectl" --socket "$socket" origin logout local)" \
        >"$outputs/leaving" </dev/null
    expect_match "logout names on a terminal the command that removes the stored answers" \
        "cachectl evict --origin local" "$(cat "$outputs/leaving")"
    login "$second"
else
    skip "login asks on a terminal" "script(1) is not installed"
fi

# -- another account has its own (case 30)

keeps worklogout cachectl origin logout local --account work
fetch "$origin/r" --data policy=network-only --data account=work
expect_equal "case 30: another account carries none" none "$(carried GET /r)"
store /k/1 '{"n": 0}'
control '{"prefix": "/k", "method": "PATCH", "status": 401, "times": 1}'
merge work-0 /k/1 '{"n": 1}' '{"account": "work"}'
work_waits() {
    [[ $(modifier 'work-0?account=work' .state) == auth_wait ]]
}
await 60 work_waits
for output in 'queue show work-0 --account work' status; do
    # The words of a command.
    # shellcheck disable=SC2086
    keeps worklogin cachectl $output
    expect_match "${output%% *} names the command with the account" \
        "cachectl origin login local --account work" "$(<"$outputs/$step.worklogin")"
done
store /p '{"n": 1}'
keeps workread cachectl get --account work "$origin/p"
for policy in network-only cache-then-network; do
    control '{"prefix": "/p", "method": "GET", "status": 401, "times": 1}'
    keeps workread cachectl get --account work --policy "$policy" "$origin/p"
    expect_match "get names it with $policy, too" \
        "answered 401.*cachectl origin login local --account work" "$(<"$outputs/$step.workread")"
done
keeps workcancel cachectl queue cancel work-0 --account work
seventh="Bearer $(random)"
keeps worklogin login "$seventh" --account work
fetch "$origin/r" --data policy=network-only --data account=work
expect_equal "case 30: or its own" "$seventh" "$(carried GET /r)"
store /w/7 '{"n": 0}'
control '{"prefix": "/w/7", "method": "PATCH", "status": 422, "times": 1}'
merge work-1 /w/7 '{"n": 1}' '{"account": "work"}'
work_is_sent() { [[ $(carried PATCH /w/7) == "$seventh" ]]; }
await 60 work_is_sent
expect_equal "case 30: its write carries it, too" "$seventh" "$(carried PATCH /w/7)"
for path in 'modifiers?state=failed' modifiers/work-1 entries origins/local/credential \
    'watch?initial=true&timeout=0ms'; do
    keeps work api --get --header 'Accept: application/json' --data-urlencode account=work \
        "http://larder/v1/$path"
done
fetch "$origin/r" --data policy=network-only
expect_equal "case 30: which no other account carries" "$second" "$(carried GET /r)"
keeps worklogout cachectl origin logout local --account work

# -- a credential of the configuration, whose file changes

fifth="Bearer $(random)"
sixth="Bearer $(random)"
printf '%s\n' "$fifth" >"$work/secret"
write_configuration "credential: {file: $work/secret, users: [$(id -un)]}"
keeps reload cachectl reload --json
fetch "$origin/r" --data policy=network-only
expect_equal "a user's own comes before the configured one" "$second" "$(carried GET /r)"
keeps logout cachectl origin logout local
fetch "$origin/r" --data policy=network-only
expect_equal "which counts then" "$fifth configuration" "$(carried GET /r) $(credential .source)"
fetch "$origin/r" --data policy=network-only --data account=work
expect_equal "for the user's default account" none "$(carried GET /r)"
control "$(jq --null-input --compact-output --arg value "$sixth" \
    '{prefix: "/c", method: "PATCH", status: 401, unless_authorization: $value}')"
store /c/1 '{"n": 0}'
merge c-1 /c/1 '{"n": 1}'
has_state "a write waits for another one" c-1 auth_wait
printf '%s\n' "$sixth" >"$work/secret.new"
mv "$work/secret.new" "$work/secret"
expect_equal "and is sent once the file has it" confirmed "$(fate c-1)"
expect_equal "which it carried" "$sixth" "$(carried PATCH /c/1)"
keeps config "$bin/larderd" --print-config --config "$config"
keeps origins cachectl origin list --json
login "$second"

# -- the API takes the file of a credential, but only at a daemon of the user's own

ninth="Bearer $(random)"
own=$work/own
mkdir -p "$own/bin"
chmod 0711 "$work"
printf '%s\n' "$ninth" >"$own/token"
cp "$bin/larderd" "$own/bin"
own_configuration() {
    # `write_configuration` uses them.
    # shellcheck disable=SC2034
    local work=$own socket=$own/api.sock config=$own/larder.yaml
    write_configuration
}
own_configuration
become=()
if ((EUID == 0)); then
    become=(setpriv --reuid=64021 --regid=64021 --clear-groups)
    chown -R 64021:64021 "$own"
    request PUT /v1/origins/local/credential --header 'Content-Type: application/json' \
        --data "{\"file\": \"$own/token\"}"
    keeps file cat "$work/body" "$work/head"
    expect_match "a system's daemon reads no file for a user, and names the command" \
        "^403 .*cachectl origin login local --file FILE" "$status $(member .hint)"
else
    skip "a system's daemon reads no file for a user" "root's daemon is needed"
fi
# own_api PATH [curl's options]: asks the user's own daemon as the user.
own_api() {
    "${become[@]}" curl --silent --max-time 50 --unix-socket "$own/api.sock" "${@:2}" \
        "http://larder/v1/$1"
}
own_is_ready() { own_api health --fail --output /dev/null; }
if "${become[@]}" true 2>/dev/null; then
    "${become[@]}" "$own/bin/larderd" --config "$own/larder.yaml" 2>>"$work/larderd.log" &
    own_daemon=$!
    await 60 own_is_ready || give_up "a user's own daemon starts" "it is ready" \
        "$(tail -n 5 "$work/larderd.log")"
    keeps ownfile own_api origins/local/credential --request PUT \
        --header 'Content-Type: application/json' --data "{\"file\": \"$own/token\"}"
    expect_equal "a user's own daemon reads it" user \
        "$(jq --raw-output .source "$outputs/$step.ownfile")"
    keeps ownread own_api get --get --data-urlencode "url=$origin/r"
    expect_equal "and its reads carry the value" "$ninth" "$(carried GET /r)"
    for path in origins/local/credential origins status stats; do
        keeps own own_api "$path"
    done
    kill -s TERM "$own_daemon"
    wait "$own_daemon" 2>/dev/null || :
    expect_equal "which is in none of its files but state.db" "$own/state/state.db" \
        "$(grep --recursive --text --files-with-matches --fixed-strings \
            "${ninth#Bearer }" "$own/state" "$own/cache")"
else
    skip "a user's own daemon reads it" "no other user can be had here"
fi

# -- the rest of a day: things that get their ids, a conflict, followers, kills, a damaged cache

eighth=$(random)
write_configuration "headers: {X-App-Key: $eighth},
    modifiers: {created_id: /id, empty: {/e/todos: []}, idempotency: {honoured: true}},
    normalize: {by_type: true, types: [{type: Todo, url: '/e/todos/{id}'}]}"
keeps reload cachectl reload --json
keeps config "$bin/larderd" --print-config --config "$config"
# keeps_following: a program that follows a list, and one that watches everything.
keeps_following() {
    api --no-buffer --get --data-urlencode "url=$origin/e/todos" --data policy=cache-then-network \
        --data follow=true --max-time 900 --output "$outputs/follow.$1" http://larder/v1/fetch &
    api --no-buffer --get --header 'Accept: application/jsonl' --max-time 900 \
        --output "$outputs/watch.$1" 'http://larder/v1/watch?initial=true' &
    await 60 test -s "$outputs/watch.$1"
}
keeps_following first
thing='"target": {"id": "entity:local/Todo:tmp:6f1c0a52-0000-4000-8000-000000000001"}'
modify '{"id": "d-1", "changes": [{"target": {"id": "'"$origin"'/e/todos"}, "effect": {"type":
    "list_add", "value": {"": [{"type": "Todo", "id": "tmp:6f1c0a52-0000-4000-8000-000000000001",
    "title": "eggs"}]}}}], "request": {"method": "POST", "url": "'"$origin"'/e/todos",
    "body": {"type": "Todo", "title": "eggs"}}}'
modify '{"id": "d-2", "changes": [{'"$thing"', "effect": {"type": "merge", "value": {"title": "milk"}}}]}'
expect_equal "a thing gets its id, and its edit is sent" "confirmed confirmed" \
    "$(fate d-1) $(fate d-2)"
end_daemon KILL
start_daemon
keeps_following second
store /e/9 '{"n": 1}'
fetch "$origin/e/9"
cachectl origin offline local
merge d-3 /e/9 '{"n": 2}'
keeps_export
expect_match "an export has what waits for the network" d-3 "$(<"$outputs/$step.unsent")"
store /e/9 '{"n": 3}'
cachectl origin online local
has_state "another device's edit is a conflict" d-3 conflict
keeps conflict cachectl queue show d-3
keeps conflict api http://larder/v1/modifiers/d-3
act retry d-3
expect_equal "which ends by a person's word" confirmed "$(fate d-3)"
end_daemon TERM
printf 'no database at all' | dd of="$work/cache/cache.db" conv=notrunc status=none
start_daemon
fetch "$origin/e/9"
expect_equal "the cache is made anew" 200 "$status"
for output in 'queue list --settled' 'queue show d-1' 'origin list --json' 'status --json' doctor \
    'stats --json' 'ls --json'; do
    # The words of a command.
    # shellcheck disable=SC2086
    keeps day cachectl $output
done
keeps day api 'http://larder/v1/modifiers?state=all'
keeps day "$bin/larderd" --help

# -- the secrets are nowhere else

secrets=("${first#Bearer }" "${second#Bearer }" "${third#Bearer }" "${fourth#Bearer }"
    "${fifth#Bearer }" "${sixth#Bearer }" "${seventh#Bearer }" "$eighth" "${ninth#Bearer }")
# having FOLDER...: files that have one of the secrets.
having() {
    printf '%s\n' "${secrets[@]}" | grep --recursive --text --files-with-matches \
        --fixed-strings --file=- "$@" || :
}
has_only_second() {
    local secrets=("${secrets[@]}")
    unset "secrets[1]"
    [[ -z $(having "$work/state") ]]
}
await 60 has_only_second
expect_equal "a removed secret soon leaves state.db and its WAL" 0 $?
mkdir "$work/copy"
cp "$work"/state/state.db* "$work"/cache/*.db* "$work/copy"
expect_equal "while the daemon runs, the rows can be read" "$second" \
    "$(sqlite3 "$work/copy/state.db" 'SELECT trim(value) FROM credential')"
expect_equal "so the search finds it" "$work/copy/state.db" \
    "$(sqlite3 "$work/copy/state.db" 'VACUUM; PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
        having "$work/copy")"
sqlite3 "$work/copy/state.db" \
    'DELETE FROM credential; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
expect_equal "without that row no secret is in the files" "" "$(having "$work/copy")"
end_daemon TERM
expect_equal "no output has one" "" "$(having "$outputs" "$work/larderd.log")"
expect_equal "no file of the cache has one" "" "$(having "$work/cache")"
expect_equal "of the state only state.db has one" "$work/state/state.db" "$(having "$work/state")"
has_only_second
expect_equal "which has none that was replaced" 0 $?
finish
