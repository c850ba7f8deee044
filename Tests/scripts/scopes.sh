#!/usr/bin/env bash
# Two users at one socket, and two accounts of one user: neither sees the other's rows by any
# route (P-09). Needs root, to be somebody else.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

if ((EUID != 0)) || ! setpriv --reuid=64001 --regid=64001 --clear-groups true 2>/dev/null; then
    skip "two uids do not see each other's rows" "only root can be somebody else"
    exit 0
fi
# Whoever asks writes the answer there.
chmod 1777 "$work"
chmod 0755 "$work/run"

cp /usr/share/iso-codes/json/iso_4217.json "$www/one.json"
configure_nginx <<'END'
        location = /slow.json { limit_rate 15k; }
END
head -c 60000 /dev/zero | tr '\0' 7 >"$www/slow.json"
start_nginx
mode=0666 configure <<END
access: {admin_group: "64090"}
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon

# Who asks: a uid and an account.
uid=64001
account=default

# The same as in support.sh, by the uid, in the groups besides its own.
groups=
api() {
    local in=(--clear-groups)
    [[ -z $groups ]] || in=(--groups "$groups")
    setpriv --reuid="$uid" --regid="$uid" "${in[@]}" \
        curl --silent --show-error --max-time 50 --unix-socket "$socket" "$@"
}

# request, in the account.
ask() {
    local method=$1 path=$2 mark='?'
    shift 2
    [[ $path != *\?* ]] || mark='&'
    [[ $account == default ]] || path=$path${mark}account=$account
    request "$method" "$path" "$@"
}

listed() {
    ask GET /v1/entries
    member '[.items[].id] | sort | join(" ")'
}

evict() {
    [[ $account == default ]] || set -- "${1%\}}, \"account\": \"$account\"}"
    request POST /v1/evict --header 'Content-Type: application/json' --data "$1"
    member '"\(.evicted) \(.ids | join(" "))"'
}

put() {
    ask PUT "$(entry "$1")" --header 'Content-Type: text/plain' --data-binary "$2"
}

bytes_of() {
    ask GET "$(entry "$1")"
    if ((status == 200)); then cat "$work/body"; else printf '%s' "$status"; fi
}

url=$origin/one.json

# keep_apart NAME OWNER-UID OWNER-ACCOUNT OTHER-UID OTHER-ACCOUNT
keep_apart() {
    local name=$1 owner=(uid="$2" account="$3") other=(uid="$4" account="$5")
    local private=note:private both=note:both

    declare -g "${owner[@]}"
    put "$private" "of the owner"
    expect_equal "$name: a put of the owner is taken" 201 "$status"
    put "$both" "of the owner"
    ask GET /v1/fetch --get --data-urlencode "url=$url"
    expect_equal "$name: the owner fetches" "snapshot network;end network" "$(outline)"

    declare -g "${other[@]}"
    expect_equal "$name: a get is a miss" 404 "$(bytes_of "$private")"
    expect_equal "$name: a get of what was fetched is a miss" 404 "$(bytes_of "$url")"
    ask HEAD "$(entry "$private")"
    expect_equal "$name: a head is a miss" 404 "$status"
    ask GET "$(entry "$private")/explain"
    expect_equal "$name: an explanation is a miss" "404 urn:larder:miss" "$status $(member .type)"
    expect_equal "$name: a list is empty" "" "$(listed)"
    ask GET '/v1/entries?prefix=note%3A'
    expect_equal "$name: a list by prefix is empty" 0 "$(member '.items | length')"
    ask GET '/v1/entries?origin=local'
    expect_equal "$name: a list by origin is empty" 0 "$(member '.items | length')"
    ask GET /v1/fetch --get --data-urlencode "url=$url" --data policy=cache-only
    expect_equal "$name: cache-only is a miss" "404 urn:larder:miss" "$(outline)"
    expect_equal "$name: a dry run finds nothing" "0 " "$(evict '{"all": true, "dry_run": true}')"
    expect_equal "$name: an eviction of all takes nothing" "0 " "$(evict '{"all": true}')"
    expect_equal "$name: an eviction by id takes nothing" "0 " \
        "$(evict "{\"ids\": [\"$private\", \"$url\"]}")"
    expect_equal "$name: an eviction by prefix takes nothing" "0 " \
        "$(evict '{"prefix": "note:"}')"
    expect_equal "$name: an eviction by origin takes nothing" "0 " \
        "$(evict '{"origin": "local"}')"
    expect_equal "$name: an eviction by age takes nothing" "0 " \
        "$(evict '{"older_than": "0ms"}')"
    expect_equal "$name: an eviction by size takes nothing" "0 " "$(evict '{"to_bytes": 0}')"
    ask DELETE "$(entry "$private")"
    expect_equal "$name: a delete is a miss" 404 "$status"

    put "$both" "of the other"
    expect_equal "$name: the same id is new to the other" 201 "$status"
    ask GET /v1/fetch --get --data-urlencode "url=$url"
    expect_equal "$name: the other fetches for itself" "snapshot network;end network" "$(outline)"
    expect_equal "$name: the other has its own bytes" "of the other" "$(bytes_of "$both")"
    expect_equal "$name: the other lists its own rows" "$url $both" "$(listed)"

    declare -g "${owner[@]}"
    expect_equal "$name: the owner has its own bytes" "of the owner" "$(bytes_of "$both")"
    expect_equal "$name: the owner lists its own rows" "$url $both $private" "$(listed)"

    declare -g "${other[@]}"
    expect_equal "$name: an eviction of all takes the other's own" 2 \
        "$(evict '{"all": true}' | cut --delimiter=' ' --fields=1)"
    declare -g "${owner[@]}"
    expect_equal "$name: and leaves the owner's" "$url $both $private" "$(listed)"
}

# Who is an administrator, by the kernel's word.
is_administrator() {
    request GET /v1/status
    member '"\(.you.user) \(.you.administrator)"'
}
uid=64001
expect_equal "an ordinary user is no administrator" "64001 false" "$(is_administrator)"
groups=64099,64090
expect_equal "a member of the group is one" "64001 true" "$(is_administrator)"
groups=64091
expect_equal "a member of another group is none" "64001 false" "$(is_administrator)"
groups=
uid=64090
expect_equal "whose own group it is, too" "64090 true" "$(is_administrator)"
uid=0
expect_equal "root is one" "0 true" "$(is_administrator)"

# What an administrator may see and evict of others, and others may not.
uid=64010 account=default
put note:a one
account=work
put note:b two
account=default
uid=64011
put note:a three
scoped() {
    request GET "/v1/entries?prefix=note&scope=$1"
    if ((status == 200)); then
        member '[.items[] | "\(.id) \(.user) \(.account)"] | join("; ")'
    else
        printf '%s %s' "$status" "$(member .type)"
    fi
}
no="403 urn:larder:not-permitted"
for scope in all user:64010 user:64011; do
    expect_equal "an ordinary user may not list scope=$scope" "$no" "$(scoped "$scope")"
    request GET "$(entry note:a)/explain?scope=$scope"
    expect_equal "nor inspect with scope=$scope" "$no" "$status $(member .type)"
    request GET "$(entry note:nothing)/explain?scope=$scope"
    expect_equal "nor learn by it what is not there, with scope=$scope" "$no" \
        "$status $(member .type)"
    request POST /v1/evict --data "{\"all\": true, \"dry_run\": true, \"scope\": \"$scope\"}"
    expect_equal "nor evict scope=$scope" "$no" "$status $(member .type)"
done
expect_match "the refusal says how to become an administrator" "usermod -aG 64090" "$(member .hint)"
expect_equal "an ordinary user may list scope=shared" "" "$(scoped shared)"
groups=64090
expect_equal "an administrator lists a user's rows" \
    "note:a 64010 default; note:b 64010 work" "$(scoped user:64010)"
expect_equal "or those of one account" "note:b 64010 work" "$(scoped 'user:64010&account=work')"
expect_equal "or everybody's" \
    "note:a 64010 default; note:b 64010 work; note:a 64011 default" "$(scoped all)"
request GET "$(entry note:b)/explain?scope=user:64010&account=work"
expect_equal "and inspects one" "200 3" "$status $(member .body_bytes)"
request GET "$(entry note:b)?scope=user:64010&account=work"
expect_equal "the bytes are not for administrators" "400 urn:larder:unknown-parameter" \
    "$status $(member .type)"
expect_equal "an administrator evicts a user's rows" "2 note:a note:b" \
    "$(evict '{"prefix": "note", "scope": "user:64010"}')"
expect_equal "and leaves the others'" "note:a 64011 default" "$(scoped all)"
expect_match "each use is logged with the uid" \
    "an administrator's right was used uid=64011 use=evict prefix=note scope=user:64010" "$(<"$work/larderd.log")"
expect_equal "by cachectl too" "note:a" \
    "$(setpriv --reuid=64011 --regid=64011 --groups=64090 \
        "$bin/cachectl" --socket "$socket" ls note --all-users | cut --fields=1)"
expect_equal "which says who may not" 77 "$(setpriv --reuid=64011 --regid=64011 --clear-groups \
    "$bin/cachectl" --socket "$socket" ls --uid 64010 >/dev/null 2>&1; printf %s $?)"
groups=

keep_apart "two uids" 64001 default 64002 default
keep_apart "two accounts" 64003 default 64003 work
keep_apart "root and another" 64004 default 0 default

# A flight is shared within a scope only.
fetch_slow() {
    uid=$1 account=$2
    api --get --data-urlencode "url=$origin/slow.json" --data "account=$account" \
        --output /dev/null http://larder/v1/fetch
}
asking=()
for who in "64005 default" "64005 default" "64006 default" "64006 work"; do
    # shellcheck disable=SC2086
    fetch_slow $who &
    asking+=($!)
done
wait "${asking[@]}"
nginx_has_logged
expect_equal "three scopes make three requests of four fetches" 3 \
    "$(grep --count 'GET /slow.json' "$work/nginx/access.log")"

# A uid that is given to somebody else: all that it had is gone before.
uid=64020
other() { setpriv --reuid=64021 --regid=64021 --groups="$1" "$bin/cachectl" --socket "$socket" "${@:2}"; }
request GET /v1/entries
begin=$(header Larder-Rev)
for account in default work; do
    ask PUT "$(entry note:mine)" --data-binary "a secret of 64020"
    ask PUT "/v1/pins/$(jq --null-input --raw-output '"note:mine" | @uri')"
    ask GET "/v1/fetch?url=$(jq --null-input --raw-output --arg url "$origin/one.json" '$url | @uri')"
    for write in waits fails; do
        query='?wait=30s' hold=
        [[ $write == fails ]] || query='' hold='"hold": "1h",'
        request POST "/v1/modifiers$query" --header 'Content-Type: application/json' --data \
            "{\"id\": \"$write\", \"account\": \"$account\", $hold \"changes\": [{
                \"target\": {\"id\": \"$origin/$account-$write.json\"},
                \"effect\": {\"type\": \"put\", \"value\": {\"secret\": \"of 64020\"}}}]}"
    done
    ask PUT "/v1/lanes/name%3Acart" --header 'Content-Type: application/json' \
        --data '{"paused": true}'
done
left_of_it() {
    local account
    for account in default work; do
        for path in entries pins 'modifiers?state=unsettled' 'modifiers?state=failed' \
            'modifiers?state=settled'; do
            ask GET "/v1/$path"
            member '.items[].id' | sed "s|^|$account ${path%%\?*} |"
        done
    done
}
expect_match "a user has entries, pins and writes" \
    "default entries note:mine.*default pins note:mine.*default modifiers waits.*default modifiers fails.*work pins note:mine" \
    "$(left_of_it | tr '\n' ' ')"
expect_equal "who is no administrator may purge nobody else" 77 \
    "$(other 64021 purge --uid 64020 --yes >/dev/null 2>&1; printf %s $?)"
expect_match "without a terminal a purge needs --yes" "Give --yes to purge.*64$" \
    "$({ other 64090 purge --uid 64020 2>&1 || echo $?; } | tr '\n' ' ' | sed 's/ $//')"
expect_match "an administrator purges a uid" '^purged: [0-9]+ entries, .*, 4 writes$' \
    "$(other 64090 purge --uid 64020 --yes)"
expect_equal "nothing of it is left, by any route" "" "$(left_of_it)"
account=default
expect_equal "nor what has changed" "" \
    "$(api --get --data since="${begin:-0}" --data timeout=100ms \
        --header "Accept: application/json" http://larder/v1/watch \
        | jq --raw-output '.items[]? | select(.type != "bookmark") | .id')"
uid=64090 groups=64090
for query in "" "?scope=all" "?scope=shared" "?account=work"; do
    ask POST "/v1/purge$query"
    expect_equal "a purge that names no user is refused: '$query'" "400" "$status"
done
mkfifo "$work/followed"
(
    uid=64022 groups='' account=default
    api --get --data-urlencode "url=$origin/one.json" --data follow=true --no-buffer \
        http://larder/v1/fetch >"$work/followed"
) &
following=$!
exec 9<"$work/followed"
read -r -u 9 _
expect_match "nor is a user purged whose programs ask" "requests of the user go on.*programs.*1$" \
    "$({ other 64090 purge --uid 64022 --yes 2>&1 || echo $?; } | tr '\n' ' ' | sed 's/ $//')"
exec 9<&-
pkill --parent "$following" || :
wait "$following" || :
purge_until_done() {
    until other 64090 purge --uid 64022 --yes >"$work/purged" 2>&1; do :; done
    cut -d, -f 1 "$work/purged"
}
expect_equal "until they have ended" "purged: 1 entries" "$(purge_until_done)"
expect_equal "who came before it has what they had" "note:a 64011 default" \
    "$(uid=64011 groups=64090; scoped all | tr ';' '\n' | grep 64011 | xargs)"
end_daemon TERM
expect_equal "the files name it no more" "" "$(for file in "$work"/cache/cache.db "$work"/state/state.db; do
    sqlite3 "$file" .dump | grep "64020" | cut -c 1-80; done)"
finish
