#!/usr/bin/env bash
# A daemon that brings an old state.db to the present version, killed between every two steps of it:
# at the start after it everything is as where nobody disturbed it, and the copy of the old file is
# whole (P-02).
# Usage: migration-kill.sh [all]
# Without `all` each point is met once; with it as often as it is come to, from each old version.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/kill.sh
source Tests/scripts/kill.sh

state=$work/state
points=(state-begun state-torn state-written state-synced step)
last=$(find schema -name 'state-*.sql' | wc -l)
url=https://origin.invalid
configure <<'END'
origins:
  away: {base_url: "https://origin.invalid"}
END

# What users have left in a file of an old version, of version 3 at the least.
old_rows() {
    local name kind has targeted pinned pin gone wanted number now reason settled effect
    local bytes="X'7b226e223a317d'" digest='-8336038490671229906, 2538481550828539879'
    local soon=$((($(date +%s) + 3600) * 1000)) then=1700000000000
    # A row: its kind, bytes or none, how many target it, when it was pinned, and the pin.
    while read -r name kind has targeted pinned pin gone wanted; do
        cat <<SQL
INSERT INTO kept (scope, id, kind, stored_at, rev, origin, status, media_type, etag, headers, bytes,
    json, digest_high, digest_low, data, size, targeted, shared, pinned_at, state, gone_status, wanted)
SELECT '0:default', '$name', $kind, $then, 40, 'away', 200, 'application/json', '"v1"', '', 7,
    1, $digest, $bytes, 321, $targeted, 0, $pinned, $pin, $gone, $wanted;
UPDATE kept SET stored_at = NULL, rev = NULL, status = NULL, media_type = NULL, etag = NULL,
    headers = NULL, bytes = NULL, json = NULL, digest_high = NULL, digest_low = NULL, data = NULL
WHERE id = '$name' AND '$has' = 'none';
UPDATE kept SET origin = NULL, etag = NULL WHERE id = '$name' AND kind = 0;
SQL
    done <<ROWS
$url/pinned 1 bytes 0 $then 0 NULL 0
note 0 bytes 0 $then 0 NULL 0
$url/waiting NULL none 0 $then 1 NULL 1
$url/gone 1 bytes 0 $then 3 410 0
$url/targeted 1 bytes 1 NULL NULL NULL 0
$url/unknown NULL none 1 NULL NULL NULL 0
$url/both 1 bytes 2 $then 0 NULL 0
$url/released 1 bytes 0 NULL NULL NULL 0
ROWS
    # A modifier: its state, when and why it ended, its target and effect.
    while read -r number now reason settled name effect; do
        cat <<SQL
INSERT INTO modifier (number, scope, id, origin, state, reason, depends_on, hold_until, attempts,
    not_applied, stalled, round, accepted_at, settled_at, rev, digest_high, digest_low, size, changes,
    method, url, media_type, headers, body)
VALUES ($number, '0:default', 'm$number', 'away', '$now', $reason, '', $soon, 0, 0, 0, 1, $then,
    $settled, $((40 + number)), $number, $number, 700, 1, 'PATCH', '$name',
    'application/merge-patch+json', '', CAST('{"x":$number}' AS BLOB));
INSERT INTO change (modifier, position, scope, id, settled, effect)
VALUES ($number, 0, '0:default', '$name', $settled IS NOT NULL, CAST('$effect' AS BLOB));
SQL
    done <<MODIFIERS
1 held NULL NULL $url/targeted {"type":"merge","value":{"x":1}}
2 held NULL NULL $url/unknown {"type":"merge","value":{"x":2}}
3 held NULL NULL $url/both {"type":"merge","value":{"x":3}}
4 held NULL NULL $url/both {"type":"put","value":{"by":4}}
5 dead 'refused' $then $url/released {"type":"merge","value":{"x":5}}
MODIFIERS
    cat <<SQL
INSERT INTO history (number, scope, id, origin, method, url, outcome, answer_status, accepted_at,
    settled_at, rev, digest_high, digest_low)
VALUES (6, '0:default', 'm6', 'away', 'PATCH', '$url/pinned', 'confirmed', 200, $then, $then, 46,
    6, 6);
INSERT INTO paused_lane (scope, lane) VALUES ('0:default', 'name:later');
INSERT INTO offline_origin (name) VALUES ('away');
UPDATE sqlite_sequence SET seq = 6 WHERE name = 'modifier';
UPDATE revision_block SET next_rev = 65536;
SQL
}

# make_old VERSION: the folder `old` with a state.db of that version, whose rows stand in its WAL, as
# a killed daemon leaves it.
make_old() {
    local n
    rm -rf "$work/old" "$work/made"
    mkdir -m 700 "$work/old" "$work/made"
    {
        echo 'PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; BEGIN;'
        for ((n = 1; n <= $1; n++)); do cat "schema/state-$(printf '%03d' "$n").sql"; done
        echo "COMMIT; PRAGMA application_id=0x4c617264; PRAGMA user_version=$1;"
        echo 'PRAGMA wal_checkpoint(TRUNCATE); BEGIN;'
        old_rows
        echo 'COMMIT;'
        echo ".shell cp $work/made/state.db $work/made/state.db-wal $work/old/"
    } | sqlite3 "$work/made/state.db" >/dev/null
    chmod 600 "$work/old/state.db" "$work/old/state.db-wal"
}

# What there is, as the API says it.
picture() {
    local list
    request POST /v1/entries/batch --header 'Content-Type: application/json' --data \
        "{\"ids\":[\"note\"$(printf ',"%s"' "$url"/{pinned,waiting,gone,targeted,unknown,both,released})]}"
    member 'select(.type != "end") | {id: (.id // .entry.id), rev, pending, failed, complete,
        shows: (.entry | [.status, .etag, .body])} | tojson'
    api 'http://larder/v1/pins' | jq --compact-output '.items[] | {id, state, bytes, rev}'
    for list in unsettled failed settled; do
        api "http://larder/v1/modifiers?state=$list" | jq --compact-output \
            '.items[] | {id, state, reason, rev, targets}'
    done
    api http://larder/v1/origins | jq --compact-output '.items[] | [.name, .offline]'
    status_of '{queue: (.queue | del(.oldest_age_ms)), pins, warnings} | tojson'
}

# What SQLite says of a file, and its version.
version_of() {
    rm -f "$work"/look.db*
    cp "$1" "$work/look.db"
    [[ ! -e $1-wal ]] || cp "$1-wal" "$work/look.db-wal"
    sqlite3 "$work/look.db" 'PRAGMA integrity_check; PRAGMA user_version' | xargs
}

# kill_at POINT N: and looks at what the next start makes of it; whether the point was come to is in
# `killed`.
kill_at() {
    local name="from version $version, killed at $1 $2"
    rm -rf "$state" "$work/cache"
    cp --archive "$work/old" "$state"
    plan_kill "$1" "$2"
    start_killable
    killed=
    if was_killed; then
        killed=1
        [[ $1 != step ]] || name+=" ($(<"$KILL_PLAN.done"))"
    else
        end_daemon KILL
    fi
    drop_plan
    start_daemon
    expect_equal "$name: everything is there" "$undisturbed" "$(picture)"
    end_daemon KILL
    expect_equal "$name: the file is brought to the present version, and copied before" \
        "ok $last, ok $version" \
        "$(version_of "$state/state.db"), $(version_of "$state/state.db.before-$version")"
}

# begin VERSION: makes a file of it, and looks at what an undisturbed start makes of that.
begin() {
    version=$1
    make_old "$version"
    rm -rf "$state"
    cp --archive "$work/old" "$state"
    start_daemon
    undisturbed=$(picture)
    expect_match "from version $version: everything is read" \
        '"n":1,"x":1.*"by":4.*"gone".*"waiting".*"m5","state":"failed".*"m6","state":"confirmed"' \
        "${undisturbed//$'\n'/ }"
    end_daemon KILL
    expect_equal "from version $version: nothing is set aside" "" \
        "$(find "$state" -name '*.aside*' -printf '%f ')"
}

# From version 4 on, and up to 10, a file has what `old_rows` writes, as it writes it.
newest=$((last > 10 ? 10 : last - 1))
if [[ ${1:-} == all ]]; then
    for ((old = 4; old <= newest; old++)); do
        begin "$old"
        each_time kill_at
    done
    finish
fi
begin "$newest"
for point in "${points[@]:0:4}"; do
    kill_at "$point" 1
    expect_equal "it comes to $point" 1 "$killed"
done
# The copy's syncs, and the rename that says that it is whole.
for n in 2 3 4 5; do kill_at step "$n"; done
finish
