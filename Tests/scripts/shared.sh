#!/usr/bin/env bash
# An origin whose answers are everybody's, and two real users of it: asked once for both, written to
# by one, whose like shows to that one alone until the server says so (case 29, P-09). Needs root,
# to be somebody else.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

if ((EUID != 0)) || ! setpriv --reuid=64101 --regid=64101 --clear-groups true 2>/dev/null; then
    skip "two users of a shared origin" "only root can be somebody else"
    exit 0
fi
# Whoever asks writes the answer there.
chmod 1777 "$work"
chmod 0755 "$work/run"

# shellcheck disable=SC2119
start_origin --close
mode=0666 configure <<END
access: {admin_group: "64190"}
origins:
  local: {base_url: "$origin", allow_private: true, shared: true, fetch: {ttl: 1h}}
END
start_daemon

# Who asks.
alice=64101
bob=64102
carol=64103
uid=$alice
groups=

# The same as in support.sh, by the uid, in the groups besides its own.
as_user() {
    local in=(--clear-groups)
    [[ -z $groups ]] || in=(--groups "$groups")
    setpriv --reuid="$uid" --regid="$uid" "${in[@]}" "$@"
}
api() {
    as_user curl --silent --show-error --max-time 50 --unix-socket "$socket" "$@"
}

# view_of UID PATH: what a user sees.
view_of() {
    uid=$1
    view "$2"
}
# asked METHOD PATH: how often the origin was.
asked() {
    # Variables of jq.
    # shellcheck disable=SC2016
    received --arg path "$2" --arg method "$1" \
        'select(.path == $path and .method == $method) | .path' | wc -l
}
# Whether a user's row is stale.
stale_of() {
    uid=$1
    request GET "$(entry "$origin$2")/explain"
    member .stale
}
# watch UID FILE: a stream of puts into the file, in the background.
watch() {
    uid=$1
    api --max-time 900 --no-buffer --get --header 'Accept: application/jsonl' \
        --data-urlencode types=put --output "$2" http://larder/v1/watch &
    await 60 grep --quiet '"type":' "$2" || give_up "a watch begins" "a frame" "nothing"
}
told() { jq --raw-output 'select(.type == "put") | .id' "$1" | sed "s|$origin||" | xargs; }
tells() { [[ $(told "$1") == "$2" ]]; }
# hears NAME USER PUTS: all that a user was told. Awaited step by step, so that no put stands for
# two.
hears() {
    await 60 tells "$work/$2" "$3"
    expect_equal "$1" "$3" "$(told "$work/$2")"
}

# -- one request, one row

store /doc '{"liked": false, "n": 1}'
control '{"prefix": "/doc", "method": "GET", "does": "hold", "times": 1}'
asking=()
for uid in "$alice" "$bob"; do
    api --get --data-urlencode "url=$origin/doc" --output "$work/fetched.$uid" \
        http://larder/v1/fetch &
    asking+=($!)
done
arrives "a request is under way" 1
uid=$carol
is_joined() { [[ $(api http://larder/v1/stats | jq .flights.joined) == 1 ]]; }
await 60 is_joined
release answer
wait "${asking[@]}"
expect_equal "two users' fetches at once are one request" 1 "$(asked GET /doc)"
for uid in "$alice" "$bob"; do
    expect_equal "and user $uid has the answer" "network" \
        "$(jq --raw-output 'select(.type == "snapshot") | .source' "$work/fetched.$uid")"
done
expect_equal "a third user has it without a request" '{"liked":false,"n":1}' \
    "$(view_of "$carol" /doc)"
expect_equal "nor was there one" 1 "$(asked GET /doc)"
request GET "/v1/entries?scope=shared"
expect_equal "it is among what is shared" "$origin/doc" "$(member '[.items[].id] | join(" ")')"
request GET /v1/entries
expect_equal "and not among a user's own" "" "$(member '[.items[].id] | join(" ")')"
request GET "$(entry "$origin/doc")/explain"
expect_equal "an explanation says whose it is" true "$(member .shared)"
request GET "/o/local/doc" --header 'Cache-Control: only-if-cached'
expect_equal "the raw route has it too" "200 1" "$status $(member .n)"
request POST /v1/entries/batch --data "{\"ids\": [\"$origin/doc\"]}"
expect_equal "and a batch" "snapshot end" "$(jq --raw-output .type "$work/body" | xargs)"

# -- a credential of one's own

uid=$bob
fetch_with "{\"url\": \"$origin/doc\", \"headers\": {\"Authorization\": \"Bearer b\"}}"
expect_equal "with a credential of one's own it is asked for oneself" \
    "snapshot network;end network" "$(outline)"
expect_equal "that is a request of its own" 2 "$(asked GET /doc)"
request GET /v1/entries
expect_equal "whose answer is the user's own" "$origin/doc" "$(member '[.items[].id] | join(" ")')"
request DELETE "$(entry "$origin/doc")"
expect_equal "and can be forgotten" 204 "$status"
for _ in 1 2; do
    request GET "$(entry "$origin/doc")"
    expect_equal "then the older shared one does not show" "404 urn:larder:miss" \
        "$status $(member .type)"
done
request GET "/o/local/doc" --header 'Cache-Control: only-if-cached'
expect_equal "nor by the raw route" 504 "$status"
request POST /v1/entries/batch --data "{\"ids\": [\"$origin/doc\"]}"
expect_equal "nor in a batch" "miss end" "$(jq --raw-output .type "$work/body" | xargs)"
expect_equal "others still see it" '{"liked":false,"n":1}' "$(view_of "$carol" /doc)"
fetch "$origin/doc"
expect_equal "until it is asked for again" "snapshot network;end network" "$(outline)"
expect_equal "for all users" '{"liked":false,"n":1}' "$(view_of "$bob" /doc)"
request GET /v1/entries
expect_equal "as the shared row" "" "$(member '[.items[].id] | join(" ")')"

# -- a like

watch "$alice" "$work/alice"
watch "$bob" "$work/bob"
control '{"prefix": "/doc", "method": "PATCH", "status": 204, "does": "hold", "applied": true, "times": 1}'
uid=$alice
merge like /doc '{"liked": true}'
expect_equal "a like is accepted" 202 "$status"
expect_equal "it shows to its user" '{"liked":true,"n":1}' "$(view_of "$alice" /doc)"
expect_equal "and to nobody else" '{"liked":false,"n":1}' "$(view_of "$bob" /doc)"
hears "and is told to its user" alice "/doc"
uid=$bob
request GET /v1/modifiers/like
expect_equal "nobody else knows of it" 404 "$status"
arrives "the like is on its way" 1

# The server's document changes meanwhile, by another device.
store /doc '{"liked": false, "n": 2}'
uid=$carol
fetch "$origin/doc"
expect_equal "what the server says shows to its user with the like" '{"liked":true,"n":2}' \
    "$(view_of "$alice" /doc)"
expect_equal "and to the others without" '{"liked":false,"n":2}' "$(view_of "$bob" /doc)"
hears "that is told to its user as well" alice "/doc /doc"
hears "and to the others, who were told of no like" bob "/doc"

# The answer to the like comes, and the read behind it is held.
control '{"prefix": "/doc", "method": "GET", "does": "hold", "times": 1}'
uid=$alice
release answer
expect_equal "the like is answered, which counts as confirmed" accepted "$(fate like)"
arrives "the shared row is asked for again" 1
expect_equal "it is stale" true "$(stale_of "$bob" /doc)"
expect_equal "no base was written into it" '{"liked":false,"n":2}' "$(view_of "$bob" /doc)"
expect_equal "while its user goes on seeing the like" '{"liked":true,"n":2}' \
    "$(view_of "$alice" /doc)"
store /doc '{"liked": true, "n": 3}'
release answer
sees() { [[ $(view_of "$1" "$2") == "$3" ]]; }
for who in "$alice" "$bob"; do
    await 60 sees "$who" /doc '{"liked":true,"n":3}'
    expect_equal "user $who sees what the server says" '{"liked":true,"n":3}' \
        "$(view_of "$who" /doc)"
done
gives_way() {
    uid=$alice
    request GET /v1/entries
    [[ $(member '.items | length') == 0 ]]
}
await 60 gives_way
expect_equal "nothing of its own is left to the user" "true" \
    "$(uid=$alice && request GET "$(entry "$origin/doc")/explain" && member .shared)"

# A last change of each one's own: nothing more was told before it.
for uid in "$alice" "$bob"; do request PUT "$(entry end)" --data-binary x; done
hears "the user is told three times: of the like, and of each answer" alice "/doc /doc /doc end"
hears "the others twice" bob "/doc /doc end"

# -- what no user may

uid=$bob
request DELETE "$(entry "$origin/doc")"
expect_equal "no user may remove what others see" "403 urn:larder:not-permitted" \
    "$status $(member .type)"
expect_match "and is told why" "is seen by all users" "$(member .detail)"
request POST /v1/evict --data '{"all": true, "scope": "shared"}'
expect_equal "nor evict it" "403 urn:larder:not-permitted" "$status $(member .type)"
request POST /v1/evict --data '{"all": true}'
expect_equal "an eviction of one's own leaves it" '{"liked":true,"n":3}' "$(view_of "$alice" /doc)"
groups=64190
request POST /v1/evict --data '{"all": true, "scope": "shared"}'
expect_equal "an administrator may evict it" "200 1" "$status $(member .evicted)"
groups=
expect_equal "then it is gone for all" "404 urn:larder:miss" "$(view_of "$alice" /doc)"
uid=$bob
fetch "$origin/doc"
request PUT "/v1/pins/$(jq --raw-output --null-input --arg id "$origin/doc" '$id | @uri')"
expect_equal "a pin keeps it" 201 "$status"
groups=64190
request POST /v1/evict --data '{"all": true, "scope": "shared"}'
expect_equal "also from an administrator" "200 0" "$status $(member .evicted)"
groups=
for who in "$alice" "$bob"; do
    expect_equal "user $who sees it" '{"liked":true,"n":3}' "$(view_of "$who" /doc)"
done

# -- kills between the commits of both files

# shellcheck source=Tests/scripts/kill.sh
source Tests/scripts/kill.sh
end_daemon TERM
start_killable

# look PATH: what both users see, into `seen` and `revision`.
declare -A seen revision
look() {
    local who
    for who in "$alice" "$bob"; do
        seen[$who]=$(view_of "$who" "$1")
        revision[$who]=$(header Larder-Rev)
    done
}
# keeps_revisions NAME PATH: none is below what was told before.
keeps_revisions() {
    local who before=("${revision[$alice]}" "${revision[$bob]}")
    look "$2"
    for who in "$alice" "$bob"; do
        expect_equal "$1: user $who is shown no earlier revision" 1 \
            "$((${revision[$who]:-0} >= before[0]))"
        before=("${before[@]:1}")
    done
}
is_asked_again() {
    (($(asked GET "$1") > $2))
}
# killed POINT KIND: the daemon ends while it stores an answer for a shared row that a write changes,
# which is `pending` or `answered`, and a blob in the same group.
killed() {
    local path=/$1-$2 like=$1-$2 name="a $2 like, killed at $1" reads leading jobs=()
    store "$path" '{"liked": false, "n": 1}'
    uid=$carol
    fetch "$origin$path"
    control '{"prefix": "'"$path"'", "method": "PATCH", "status": 204, "does": "hold",
        "applied": true, "times": 1}'
    uid=$alice
    merge "$like" "$path" '{"liked": true}'
    arrives "$name: it is on its way" 1
    reads=$(asked GET "$path")
    if [[ $2 == answered ]]; then
        # The read after the write is held until the commit waits.
        control '{"prefix": "'"$path"'", "method": "GET", "does": "hold"}'
        release answer
        expect_equal "$name: it is answered" accepted "$(fate "$like")"
        store "$path" '{"liked": true, "n": 2}'
    else
        store "$path" '{"liked": false, "n": 2}'
    fi
    look "$path"
    expect_equal "$name: it shows" '{"liked":true,"n":1}' "${seen[$alice]}"
    # The answer and the blob gather while the commit of another blob waits.
    plan_kill "$1" 1 hold
    uid=$bob
    api --request PUT --data lead --output /dev/null "http://larder$(entry lead)" 2>/dev/null &
    leading=$!
    await 60 test -e "$KILL_PLAN.held" || give_up "$name: a commit waits" "a put's" "none"
    uid=$carol
    if [[ $2 == pending ]]; then
        api --get --data-urlencode "url=$origin$path" --output /dev/null \
            http://larder/v1/fetch 2>/dev/null &
        jobs+=($!)
    fi
    api --request PUT --data "$like" --output /dev/null "http://larder$(entry blob)" 2>/dev/null &
    jobs+=($!)
    await 60 is_asked_again "$path" "$reads" || give_up "$name: it is read" "a GET" "none"
    if [[ $2 == answered ]]; then
        release answer
        # One that took the place of a silent connection's is answered as well.
        at_origin DELETE /_control
    fi
    sleep 0.3
    touch "$KILL_PLAN.go"
    # The shell would say that it was killed.
    { await 60 was_killed; } 2>/dev/null || give_up "$name: it comes to that" "a kill" "none"
    wait_for_kill
    wait "$leading" "${jobs[@]}"
    drop_plan
    # What the origin holds would be sent to nobody.
    at_origin DELETE /_control
    start_killable
    keeps_revisions "$name" "$path"
    if [[ $1 == state-begun ]]; then
        # Nothing of the group is there.
        expect_match "$name: it shows" '"liked":true' "${seen[$alice]}"
    else
        expect_equal "$name: it shows on the answer" '{"liked":true,"n":2}' "${seen[$alice]}"
        expect_match "$name: the others see the answer" '"n":2' "${seen[$bob]}"
    fi
    uid=$alice
    has_state "$name: it ends by itself" "$like" confirmed
    keeps_revisions "$name, and ended" "$path"
    for who in "$alice" "$bob"; do
        expect_equal "$name: user $who sees what the server says" '{"liked":true,"n":2}' \
            "${seen[$who]}"
    done
}
for point in state-begun state-synced cache-begun cache-torn cache-written; do
    for kind in pending answered; do killed "$point" "$kind"; done
done
finish
