#!/usr/bin/env bash
# cache.db deleted, cut, damaged, replaced and read-only, while the daemon is down and while it is
# up; and full disks, which are small ones of their own. The daemon goes on in every case: fetches
# are answered, what is read is right or a miss, storing goes on when it can, and what is pinned
# is served through all of it (P-07, P-13).
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

iso=/usr/share/iso-codes/json
cp --preserve=timestamps "$iso"/iso_4217.json "$iso"/iso_15924.json "$www"
jq --slurp . "$iso/iso_639-3.json" >"$www/large.json"
cp --preserve=timestamps "$iso"/iso_3166-2.json "$www/kept.json"
db=$work/cache/cache.db
configure_nginx </dev/null
start_nginx
kept_path=$(entry "$origin/kept.json")
pinned=
lost=

write_configuration() {
    configure <<END
${1:-}
origins:
  local: {base_url: "$origin", allow_private: true}
END
}
write_configuration

# -- while the daemon is down

# Fills the cache until its file has some hundred pages, in chunks and in rows.
fill() {
    local n
    fetch "$origin/iso_4217.json"
    fetch "$origin/large.json"
    for ((n = 0; n < 20; n++)); do
        request PUT "$(entry "note:$n")" --data-binary "@$www/iso_15924.json"
    done
    pin_some
}

# An answer in chunks is pinned once it is cached, bytes of one's own in a row with their put.
pin_some() {
    fetch "$origin/kept.json"
    request PUT "/v1/pins/${kept_path#/v1/entries/}"
    pinned=$status
    request PUT "$(entry kept)?pin=true" --data-binary "@$iso/iso_639-2.json"
    pinned+=" $status"
}

# look_at_pins MOMENT: adds what is not served as it was pinned to `lost`.
look_at_pins() {
    [[ $pinned =~ ^20[14]\ 20[14]$ ]] || lost+="$1: not pinned ($pinned); "
    request GET "$kept_path"
    ((status == 200)) && cmp -s "$www/kept.json" "$work/body" || lost+="$1: the answer $status; "
    request GET "$(entry kept)"
    ((status == 200)) && cmp -s "$iso/iso_639-2.json" "$work/body" || lost+="$1: the blob $status; "
}
# expect_pins_kept NAME: what was pinned was there at each look, and is.
expect_pins_kept() {
    look_at_pins "at the end"
    expect_equal "$1: what was pinned is served with its bytes" "" "$lost"
    lost=
}

# Every entry that is there has its own bytes; sets `found` to how many of them are.
expect_right_or_missing() {
    local n code=0 wrong=()
    found=0
    for ((n = 0; n < 20; n++)); do
        request GET "$(entry "note:$n")"
        if ((status == 200)) && cmp -s "$www/iso_15924.json" "$work/body"; then
            found=$((found + 1))
        elif ((status != 404)); then
            wrong+=("note:$n $status")
        fi
    done
    # A damaged chunk is met behind the head: the answer is then cut off, which curl tells.
    request GET "$(entry "$origin/large.json")" || code=$?
    if ((status == 200 && code == 0)) && ! cmp -s "$www/large.json" "$work/body"; then
        wrong+=("large")
    elif ((status != 200 && status != 404)); then
        wrong+=("large $status")
    fi
    expect_equal "$1: what is read is right or a miss" "" "${wrong[*]}"
}

# The daemon answers, keeps what it fetches, and gives it again.
expect_going_on() {
    fetch "$origin/iso_15924.json"
    expect_match "$1: a fetch is answered" '^snapshot (network|cache stale);.*end' "$(outline)"
    fetch "$origin/iso_15924.json" --data policy=cache-only
    expect_equal "$1: and kept" "snapshot cache stale;end cache" "$(outline)"
    request PUT "$(entry note:new)" --data-binary "new after $1"
    request GET "$(entry note:new)"
    expect_equal "$1: a put is kept" "200 new after $1" "$status $(cat "$work/body")"
}

# case_down NAME SIGNAL FATE COMMAND...: harms the file between an end and a start. FATE says what
# status tells: `anew`, `kept`, or `either`.
case_down() {
    local name=$1 signal=$2 fate=$3
    shift 3
    rm -rf "$work/cache" "$work/state"
    start_daemon
    fill
    end_daemon "$signal"
    "$@"
    start_daemon
    look_at_pins "at the start"
    expect_right_or_missing "$name"
    case $fate in
        anew)
            expect_match "$name: status says that it was recreated" "recreated" \
                "$(status_of '.warnings | join("; ")')"
            expect_equal "$name: the state is degraded" degraded "$(status_of .state)"
            expect_equal "$name: and it begins empty" 0 "$found"
            [[ -e $db.aside || -L $db.aside ]] || not_ok "$name: it was set aside" "$db.aside" "nothing"
            ;;
        empty)
            expect_equal "$name: it begins empty" 0 "$found"
            ;;
        kept)
            expect_equal "$name: nothing is lost" "20 ok" "$found $(status_of .state)"
            ;;
        either) ;;
    esac
    expect_going_on "$name"
    expect_pins_kept "$name"
    end_daemon TERM
    expect_equal "$name: the end is orderly" 0 "$ended"
}

size() {
    stat --format %s "$1"
}
overwrite() { # OFFSET COUNT
    head -c "$2" /dev/urandom \
        | dd of="$db" bs=4096 seek="$(($1 / 4096))" iflag=fullblock conv=notrunc status=none
}
cut_to() {
    truncate --size "$1" "$db"
}
cut_in_half() {
    local pages=$(($(size "$db") / 4096))
    pages=$((pages / 2))
    cut_to "$((pages * 4096))"
}
cut_within_a_page() {
    cut_to "$(($(size "$db") / 2 + 1234))"
}
noise_everywhere() {
    overwrite 0 "$(size "$db")"
}
# A page for each tenth of the file, so that tables, indices and bodies are met.
noise_in_pages() {
    local pages n
    pages=$(($(size "$db") / 4096))
    for ((n = pages / 10; n < pages; n += pages / 10)); do overwrite "$((n * 4096))" 4096; done
}
later_version() {
    printf '\0\0\0\x63' | dd of="$db" bs=1 seek=60 conv=notrunc status=none
}
another_program() {
    printf 'Else' | dd of="$db" bs=1 seek=68 conv=notrunc status=none
}
a_folder() {
    rm "$db"
    mkdir "$db"
}
a_link() {
    mv "$db" "$work/elsewhere.db"
    ln -s "$work/elsewhere.db" "$db"
    sum=$(sha256sum <"$work/elsewhere.db")
}
another_wal() {
    cp "$work/state/state.db-wal" "$db-wal"
}
noise_in_wal() {
    head -c 200000 /dev/urandom >"$db-wal"
}

case_down "deleted" TERM empty rm "$db"
case_down "deleted, its WAL left" KILL empty rm "$db"
case_down "deleted with its WAL" KILL empty rm "$db" "$db-wal" "$db-shm"
case_down "its WAL deleted" KILL either rm "$db-wal"
case_down "the folder deleted" TERM empty rm -r "$work/cache"
case_down "emptied" TERM empty cut_to 0
case_down "cut in its head" TERM anew cut_to 50
case_down "cut at the edge of a page" TERM anew cut_in_half
case_down "cut within a page" TERM anew cut_within_a_page
case_down "filled with noise" TERM anew noise_everywhere
case_down "noise in its first page" TERM anew overwrite 0 4096
case_down "noise in some pages" TERM either noise_in_pages
case_down "of a later version" TERM anew later_version
case_down "another program's file" TERM anew another_program
case_down "a folder in its place" TERM anew a_folder
case_down "a link in its place" TERM anew a_link
expect_equal "a link in its place: nothing was written through it" "$sum" \
    "$(sha256sum <"$work/elsewhere.db")"
case_down "another file's WAL" KILL either another_wal
case_down "a WAL of noise" TERM kept noise_in_wal

# -- read-only, by a user for whom that counts

nobody=(setpriv --reuid=64002 --regid=64002 --clear-groups)
start_as_nobody() {
    chown -R 64002:64002 "$work/cache" "$work/state" "$work/run"
    "${nobody[@]}" "$bin/larderd" --config "$config" 2>>"$work/larderd.log" &
    daemon=$!
    await 60 is_ready || give_up "$1: the daemon starts" "it is ready within 60 s" \
        "$(tail -n 5 "$work/larderd.log")"
}
is_storing() {
    [[ $(status_of '.warnings | length') == 0 ]]
}

if ((EUID != 0)) || ! "${nobody[@]}" true 2>/dev/null || ! "${nobody[@]}" test -x "$bin/larderd"; then
    skip "read-only files" "only root can be somebody else, who may run $bin/larderd"
else
    chmod 0755 "$work"
    chmod 0644 "$config"
    mkdir -p "$work/cache" "$work/state"

    chmod 0400 "$db"
    start_as_nobody "a read-only file"
    look_at_pins "at the start"
    expect_match "a read-only file: status says that it was recreated" "recreated" \
        "$(status_of '.warnings | join("; ")')"
    expect_going_on "a read-only file"
    expect_pins_kept "a read-only file"
    end_daemon TERM

    # With a WAL that is left, which is empty after an orderly end, SQLite needs to make no file.
    rm -f "$db-wal" "$db-shm"
    chmod 0500 "$work/cache"
    start_as_nobody "a read-only folder"
    expect_match "a read-only folder: status says that nothing is stored" "cannot be used" \
        "$(status_of '.warnings | join("; ")')"
    fetch "$origin/iso_4217.json"
    expect_equal "a read-only folder: a fetch is answered" "snapshot network;end network" \
        "$(outline)"
    request PUT "$(entry note:1)" --data-binary x
    expect_match "a read-only folder: a put is refused" '^50[03] urn:larder:storage' \
        "$status $(member .type)"
    request GET "$(entry note:1)"
    expect_equal "a read-only folder: a read is a miss" 404 "$status"
    look_at_pins "while it is read-only"
    chmod 0700 "$work/cache"
    await 60 is_storing || not_ok "a folder that may be written again is used" "no warning" \
        "$(status_of '.warnings | join("; ")')"
    expect_going_on "a folder that may be written again"
    expect_pins_kept "a read-only folder"
    end_daemon TERM
    expect_equal "a read-only folder: the end is orderly" 0 "$ended"

    chmod 0500 "$work/state"
    chmod 0400 "$work/state/state.db"
    ended=0
    "${nobody[@]}" timeout 20 "$bin/larderd" --config "$config" 2>"$work/refused.log" || ended=$?
    expect_equal "a read-only state.db ends the daemon with 73" 73 "$ended"
    expect_match "and is named" "$work/state" "$(cat "$work/refused.log")"
fi
rm -rf "$work/cache" "$work/state"

# A write beyond a limit of the shell fails; the signal for it ends no process.
ended=0
(
    ulimit -f 1
    exec timeout 20 "$bin/larderd" --config "$config"
) 2>"$work/refused.log" || ended=$?
expect_match "a limit of file sizes ends the first start as a disk does" '^7[34]$' "$ended"
rm -rf "$work/cache" "$work/state"

# -- while the daemon is up

start_daemon
was_made_anew() {
    (($(grep --count "recreated" "$work/larderd.log") >= $1))
}
is_stopped() {
    [[ $(<"/proc/$daemon/stat") == *") T "* ]]
}
# case_up NAME COMMAND...: harms the file under the running daemon.
case_up() {
    local name=$1
    shift
    fill
    anew=$(grep --count "recreated" "$work/larderd.log")
    # Stopped, the daemon sees the file before or after the harm, and not in the middle of it.
    kill -STOP "$daemon"
    await 60 is_stopped || not_ok "up: $name: the daemon is stopped" "T" "$(<"/proc/$daemon/stat")"
    "$@"
    kill -CONT "$daemon"
    look_at_pins "at once"
    expect_right_or_missing "up: $name"
    anew=$((anew + 1))
    await 60 was_made_anew "$anew" || not_ok "up: $name: it is recreated" "$anew warnings" \
        "$(status_of .warnings)"
    expect_going_on "up: $name"
    expect_pins_kept "up: $name"
}
empty_all() {
    rm "$db" "$db-wal" "$db-shm"
}
case_up "deleted with its WAL" empty_all
expect_equal "up: a deletion is allowed: status is well" "ok []" \
    "$(status_of '"\(.state) \(.warnings)"')"
expect_match "up: the log tells it once, as a notice" '^<5>the files reason=[^ ]*/cache.db was deleted' \
    "$(grep "was deleted" "$work/larderd.log")"
case_up "emptied" cut_to 0
case_up "its WAL deleted" rm "$db-wal"
case_up "the folder deleted" rm -r "$work/cache"
# The file itself has its pages only after a checkpoint: at an orderly end.
end_daemon TERM
start_daemon
fill
end_daemon TERM
start_daemon
case_up "noise" noise_everywhere
end_daemon TERM
expect_equal "up: the end is orderly" 0 "$ended"
start_daemon
expect_equal "up: after a new start the last entry is there" ok "$(status_of .state)"
request GET "$(entry note:new)"
expect_equal "up: with its bytes" "200 new after up: noise" "$status $(cat "$work/body")"
end_daemon TERM

# -- full disks

small_disks() {
    mkdir -p "$work/cache" "$work/state"
    mount -t tmpfs -o size=32m,mode=0700 tmpfs "$work/cache" 2>/dev/null || return 1
    mount -t tmpfs -o size=32m,mode=0700 tmpfs "$work/state" 2>/dev/null
}
fill_disk() {
    # As much as there is, in ever smaller pieces.
    local piece
    for piece in 1M 64k 4k 1k; do
        dd if=/dev/zero of="$1/ballast" bs=$piece oflag=append conv=notrunc status=none 2>/dev/null
    done
}
free_bytes() {
    echo $(($(stat --file-system --format '%a * %S' "$1")))
}
has_no_warning() {
    [[ $(status_of '.warnings | length') == 0 ]]
}

rm -rf "$work/cache" "$work/state"
unmount_all() {
    umount --lazy "$work/cache" "$work/state" 2>/dev/null
}
if ((EUID != 0)) || ! small_disks; then
    skip "full disks" "mounting a small one is not permitted"
    finish
fi
trap 'unmount_all; clean_up' EXIT
write_configuration 'cache: {min_free_bytes: 0B}'
start_daemon
expect_match "a reserve is there, with its blocks" '^[0-9]+$' \
    "$(stat --format '%b' "$work/cache/reserve" | awk '$1 * 512 >= 8388608')"
fill
expect_equal "a small disk is healthy" ok "$(status_of .state)"

fill_disk "$work/cache"
# The reserve is given up for the next puts, and filled by others too.
head -c 60000 /dev/urandom >"$work/blob"
refused=0
for ((n = 0; n < 400 && refused == 0; n++)); do
    # What is in use is not what goes.
    api --output /dev/null "http://larder/v1/entries/note%3A[0-19]"
    request GET "$(entry "$origin/iso_4217.json")"
    fill_disk "$work/cache"
    request PUT "$(entry "ballast:$n")" --data-binary "@$work/blob"
    ((status == 507)) && refused=1
done
expect_equal "a put on a full disk is refused" "507 urn:larder:disk-full" "$status $(member .type)"
expect_match "with a hint" "Free space" "$(member .hint)"
if [[ -e $work/cache/reserve ]]; then
    not_ok "the reserve is given up" "no file" "$(ls -l "$work/cache")"
else
    ok "the reserve is given up"
fi
expect_match "status says so" "reserve" "$(status_of '.warnings | join("; ")')"
look_at_pins "while the cache's disk is full"
expect_right_or_missing "full"
expect_equal "full: hits go on" 20 "$found"
cp "$iso/iso_3166-1.json" "$www/unseen.json"
fetch "$origin/unseen.json"
expect_equal "full: a fetch is answered" "snapshot network;end network" "$(outline)"
fetch "$origin/unseen.json" --data policy=cache-only
expect_equal "full: but not kept" "404 urn:larder:miss" "$(outline)"
# 64 KiB to 1 MiB, on its way into chunks.
jq --compact-output '[range(50000)]' --null-input >"$www/chunked.json"
fetch "$origin/chunked.json"
expect_equal "full: so is a large one" "snapshot network;end network" "$(outline)"
fetch "$origin/iso_4217.json"
expect_match "full: what is cached is confirmed" '^snapshot cache stale;unchanged 304' "$(outline)"

# Without a word from anybody it goes on.
rm "$work/cache/ballast"
request PUT "$(entry note:after)" --data-binary "after"
expect_match "with space again a put is kept" '^20[14]$' "$status"
await 60 has_no_warning || not_ok "the reserve is taken again" "no warning" \
    "$(status_of '.warnings | join("; ")')"
expect_equal "and status is healthy" ok "$(status_of .state)"
expect_equal "and storing goes on" "snapshot network;end network" \
    "$(fetch "$origin/unseen.json"; outline)"
request GET "$(entry note:after)"
expect_equal "and is read" "200 after" "$status $(cat "$work/body")"
expect_pins_kept "full"

# A start on full disks: both reserves are there.
end_daemon TERM
fill_disk "$work/cache"
fill_disk "$work/state"
start_daemon
look_at_pins "while both disks are full"
expect_right_or_missing "a start on full disks"
expect_equal "a start on full disks: hits go on" 20 "$found"
fetch "$origin/unseen.json"
expect_match "a start on full disks: a fetch is answered" '^snapshot cache stale;unchanged' \
    "$(outline)"
expect_equal "a start on full disks: status says so" degraded "$(status_of .state)"
rm "$work/cache/ballast" "$work/state/ballast"
await 60 has_no_warning || not_ok "both reserves are taken again" "no warning" \
    "$(status_of '.warnings | join("; ")')"

# The state's disk is full while the daemon is up: what is cached needs nothing of it.
fill_disk "$work/state"
request PUT "$(entry note:state)" --data-binary "state"
expect_match "a full disk of the state: puts into the cache go on" '^20[14]$' "$status"
look_at_pins "while the state's disk is full"
rm "$work/state/ballast"
expect_pins_kept "a start on full disks"
end_daemon TERM
expect_equal "full: the end is orderly" 0 "$ended"

# A first start on a full disk of the state cannot be; on one of the cache it can.
rm -rf "$work"/state/* "$work"/cache/*
fill_disk "$work/state"
ended=0
timeout 20 "$bin/larderd" --config "$config" 2>"$work/refused.log" || ended=$?
expect_equal "a first start without room for state.db ends with 73" 73 "$ended"
expect_match "and says why" "full|No space" "$(cat "$work/refused.log")"
rm "$work/state/ballast"
fill_disk "$work/cache"
start_daemon
fetch "$origin/iso_4217.json"
expect_equal "a first start without room for cache.db: a fetch is answered" \
    "snapshot network;end network" "$(outline)"
expect_equal "a first start without room for cache.db: status says so" degraded "$(status_of .state)"
rm "$work/cache/ballast"
await 60 has_no_warning || not_ok "with room it is made" "no warning" \
    "$(status_of '.warnings | join("; ")')"
expect_going_on "with room it is made"

# -- min_free_bytes, for real

end_daemon TERM
rm -rf "$work"/state/* "$work"/cache/*
write_configuration 'cache: {min_free_bytes: 8MiB}'
start_daemon
pin_some
# What stands in the WAL as well takes space twice until an orderly end, and each put some pages of
# indexes: with more blobs the disk is full by then.
for ((n = 0; n < 110; n++)); do
    request PUT "$(entry "blob:$n")" --data-binary "@$work/blob"
done
end_daemon TERM
start_daemon
# What is pinned leaves cache.db in maintenance.
request GET '/v1/entries?limit=1000'
held=$(jq '[.items[] | select(.pinned | not).accounted_bytes] | add' "$work/body")
is_held() { [[ $(status_of .cache.accounted_bytes) == "$held" ]]; }
await 60 is_held || not_ok "min_free_bytes: the cache has what is not pinned" "$held" \
    "$(status_of .cache.accounted_bytes)"
leave_free() {
    rm -f "$work/cache/ballast"
    head -c "$(($(free_bytes "$work/cache") - $1))" /dev/zero >"$work/cache/ballast"
}
# With more than half of it nothing goes, and nothing grows.
leave_free $((6 << 20))
is_bounded() {
    [[ $(status_of '.warnings | join("; ")') == *"the cache keeps to $held bytes"* ]]
}
await 90 is_bounded || not_ok "min_free_bytes: the cache is bounded" "a warning" "none"
expect_equal "min_free_bytes: with more than half of it free nothing goes" "$held" \
    "$(status_of .cache.accounted_bytes)"
for ((n = 0; n < 20; n++)); do
    request PUT "$(entry "grown:$n")" --data-binary "@$work/blob"
done
expect_at_most "min_free_bytes: it grows no more" "$held" "$(status_of .cache.accounted_bytes)"
# With less, the cache shrinks.
leave_free $((3 << 20))
has_room() {
    (($(free_bytes "$work/cache") >= 4 << 20))
}
await 90 has_room || not_ok "min_free_bytes: the cache shrinks for others" "4 MiB free" \
    "$(free_bytes "$work/cache") free"
expect_at_most "min_free_bytes: rows went" "$((held - 1))" "$(status_of .cache.accounted_bytes)"
expect_match "min_free_bytes: half of them stay" true \
    "$(status_of ".cache.accounted_bytes >= $held / 2 - 100000")"
expect_match "min_free_bytes: status says how many went" 'entries were evicted for it' \
    "$(status_of '.warnings | join("; ")')"
is_logged() { grep -q 'entries were evicted, as the disk of' "$work/larderd.log"; }
await 60 is_logged || not_ok "min_free_bytes: the log says how many went" "a line" "none"
request GET "$(entry grown:19)"
expect_equal "min_free_bytes: the newest stay" 200 "$status"
expect_pins_kept "min_free_bytes"
rm "$work/cache/ballast"
for ((n = 0; n < 20; n++)); do
    request PUT "$(entry "more:$n")" --data-binary "@$work/blob"
done
expect_match "min_free_bytes: with space it grows again" '^20[14]$' "$status"
end_daemon TERM
finish
