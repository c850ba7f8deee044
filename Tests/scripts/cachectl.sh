#!/usr/bin/env bash
# cachectl as scripts use it: what it prints where, and its exit codes, against the real daemon and
# nginx.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

# The daemon of whoever runs the tests is none of theirs.
unset LARDER_SOCKET NO_COLOR

# run ARGUMENTS: stdout and stderr in the files `out` and `err` of the temporary folder, the exit
# code in `code`. Stdin is what stands at the call, nothing if it is a terminal.
run() {
    code=0
    "$bin/cachectl" --socket "$socket" "$@" >"$work/out" 2>"$work/err" </dev/stdin || code=$?
}

# The exit code, stdout and stderr in one line.
said() {
    printf '%s|%s|%s' "$code" "$(<"$work/out")" "$(head -n 1 "$work/err")"
}

# on_terminal ARGUMENTS: the same on a terminal of 80 columns and 24 rows, all in `out`; `answer` is
# typed.
on_terminal() {
    code=0
    script --quiet --return --log-out /dev/null --command \
        "stty cols 80 rows 24; $(printf '%q ' "$bin/cachectl" --socket "$socket" "$@")" \
        >"$work/out" <<<"${answer-}" || code=$?
    tr --delete '\r' <"$work/out" >"$work/out.lines"
}

exec </dev/null

# No daemon

configure <<<''
run status
expect_equal "without a daemon, status exits 69" 69 "$code"
expect_equal "it says at which socket nobody answers" \
    "cachectl: no larderd answers at $socket (there is no socket)" "$(head -n 1 "$work/err")"
expect_match "it says how to start it" "larderd &" "$(<"$work/err")"
run get http://127.0.0.1:9/x
expect_equal "without a daemon, get exits 69" 69 "$code"
run queue list
expect_equal "without a daemon, queue list exits 69" 69 "$code"
code=0
env -u XDG_RUNTIME_DIR LARDER_SOCKET="$work/elsewhere.sock" "$bin/cachectl" status \
    2>"$work/err" || code=$?
expect_match "LARDER_SOCKET names the socket" "elsewhere.sock" "$code $(<"$work/err")"

# Wrong usage

while read -r arguments; do
    # shellcheck disable=SC2086
    run $arguments
    expect_equal "wrong usage exits 64: $arguments" "64|" "$code|$(<"$work/out")"
done <<'END'
get
nonsense
get http://a.example/x --policy nonsense
get http://a.example/x --timeout 10
get http://a.example/x --header nonsense
get an-id --policy cache-only
get ftp://a.example/x
ls --limit 0
ls --sort nonsense
put an-id --ttl never
evict
evict --all --prefix x
ls --uid 1 --all-users
ls --uid x
df --all-users --account work
queue nonsense
queue list --limit 0
queue list --uid 1 --all-users
queue show
queue drop --all an-id
queue drop
queue drop an-id --state failed
queue list --state ded
statu
queue lst
queue pause
queue wait --timeout 10
evict --all
--system --user status
END

# Fetching in a pipe

printf '{"a":1}\n' >"$www/a.json"
head -c 300000 /dev/urandom >"$www/large.bin"
printf 'plain' >"$www/fresh.txt"
configure_nginx <<END
        location = /fresh.txt { expires 1h; }
        location = /refused { return 403; }
        location = /broken { return 500; }
        listen unix:$work/later.sock;
        location = /v1/status { default_type application/json; alias $www/status; }
        location = /v1/entries { default_type application/json; alias $www/entries; }
END
start_nginx
mode=0660 configure <<END
origins:
  local: {base_url: "$origin", allow_private: true, fetch: {network_wait: 60s}}
END
start_daemon

run get "$origin/a.json"
expect_equal "a first get prints the network's body and says so" \
    '0|{"a":1}|cachectl: from the network' "$(said)"
expect_same_file "it prints the origin's bytes, line ends and all" "$www/a.json" "$work/out"
run get "$origin/a.json" --policy cache-then-network
expect_match "with cache-then-network one body comes, confirmed by the network" \
    '^0\|\{"a":1\}\|cachectl: from the cache, [0-9]+ s old, stale, confirmed by the network$' \
    "$(said)"
printf '{"a":22}\n' >"$www/a.json"
run get "$origin/a.json" --policy cache-then-network
expect_equal "with cache-then-network one body comes, the network's if it changed" \
    '0|{"a":22}|cachectl: from the network' "$(said)"
run get "$origin/a.json" --policy cache-only
expect_match "with cache-only the cached body comes" \
    '^0\|\{"a":22\}\|cachectl: from the cache, [0-9]+ s old, stale$' "$(said)"
run get "$origin/a.json" --policy cache-only --fresh
expect_equal "with --fresh a stale answer is none" \
    "75||cachectl: what is cached of $origin/a.json is stale" "$(said)"
run get "$origin/fresh.txt"
run get "$origin/fresh.txt" --policy cache-only --fresh
expect_match "with --fresh a fresh answer comes" '^0\|plain\|.* s old$' "$(said)"
run get "$origin/fresh.txt" --policy cache-first --fresh
expect_match "with cache-first a fresh answer is not asked for" \
    '^0\|plain\|cachectl: from the cache, [0-9]+ s old$' "$(said)"
run get "$origin/a.json" --policy cache-first
expect_equal "with cache-first a stale answer is asked for" \
    '0|{"a":22}|cachectl: from the network' "$(said)"
run get "$origin/a.json" --policy stale-while-revalidate
expect_match "with stale-while-revalidate the cached body comes" \
    '^0\|\{"a":22\}\|cachectl: from the cache, [0-9]+ s old, stale$' "$(said)"
run get "$origin/a.json" --policy stale-while-revalidate --fresh
expect_equal "with --fresh a stale one that is refreshed behind is none" \
    "75||cachectl: what is cached of $origin/a.json is stale" "$(said)"
run get "$origin/a.json" --policy network-only --fresh
expect_equal "with network-only the network's body comes" \
    '0|{"a":22}|cachectl: from the network' "$(said)"
run get "$origin/large.bin"
expect_same_file "a large body comes byte for byte" "$www/large.bin" "$work/out"
run get "$origin/large.bin" --policy cache-only
expect_same_file "from the cache too" "$www/large.bin" "$work/out"
run get "$origin/nothing" --policy cache-only
expect_equal "a miss with cache-only exits 3" "3|" "$code|$(<"$work/out")"
run get "$origin/nothing"
expect_equal "what the origin deleted exits 3" "3|" "$code|$(<"$work/out")"
run get "$origin/refused"
expect_equal "what the origin refuses exits 1, and is named" \
    "1||cachectl: $origin/refused: $origin answered 403" "$(said)"
expect_match "with what the origin said" "403 Forbidden" "$(<"$work/err")"
run get http://elsewhere.example/x
expect_equal "an unknown origin exits 77" "77|" "$code|$(<"$work/out")"
run pin http://elsewhere.example/x
expect_equal "for pin alike" 77 "$code"
run pin "$origin/refused"
expect_equal "a pin that the origin refuses exits 1" 1 "$code"
run status
expect_match "status warns of it, with the command" "^1\|.*1 pin failed.*cachectl pin --list" \
    "$code|$(tr '\n' ' ' <"$work/out")"
run unpin "$origin/refused"
run pin --wait 3s "$origin/broken"
expect_match "one that the origin fails exits 1 too, although it goes on waiting" \
    "^1\|\|cachectl: $origin/broken is not held yet \($origin answered 500\)" "$(said)"
run unpin "$origin/broken"
run get -o "$work/saved" -q "$origin/large.bin"
expect_equal "with -o and -q nothing is printed" "0||" "$(said)"
expect_same_file "and the file is whole" "$www/large.bin" "$work/saved"
chmod 600 "$work/saved"
run get -o "$work/saved" -q "$origin/large.bin"
expect_equal "a file that is replaced keeps its rights" "0 600" \
    "$code $(stat --format %a "$work/saved")"
code=0
(
    # A write beyond the limit fails, as on a full disk.
    ulimit -f 1
    "$bin/cachectl" --socket "$socket" get -q -o "$work/saved" "$origin/large.bin"
) 2>"$work/err" || code=$?
expect_equal "a file that cannot be written whole is named" \
    "1|cachectl: $work/saved: File too large" "$code|$(<"$work/err")"
run get -o "$work/saved" "$origin/refused"
expect_same_file "one that fails leaves the file as it was" "$www/large.bin" "$work/saved"
expect_equal "and nothing beside it" "$work/saved" "$(echo "$work"/saved*)"

# Slips

while IFS='|' read -r arguments meant; do
    # shellcheck disable=SC2086
    run $arguments
    expect_match "a slip is told what was meant: $arguments" "$meant" "$(<"$work/err")"
done <<'END'
get localhost:8080/x|did you mean http://localhost:8080/x\?
get example.com/x|did you mean https://example.com/x\?
inspect 127.0.0.1:9/x|did you mean http://127.0.0.1:9/x\?
get --policy cache-only example.com/x|Did you mean https://example.com/x\?
pin localhost:8080/x|Did you mean http://localhost:8080/x\?
statu|unknown command 'statu', did you mean 'status'\?
queue lst|unknown command 'lst', did you mean 'list'\?
queue list --state faild|did you mean 'failed'\?
ls --sort siez|did you mean 'size'\?
get http://a.example/x --policy cache-onyl|did you mean 'cache-only'\?
evict --yes notes/*|cachectl evict --prefix 'notes/'
END
run --help
expect_match "the help has every exit code" "77 not permitted, 78 bad configuration" \
    "$(tr --squeeze-repeats "\n " "  " <"$work/out")"

# Ids from stdin

for name in 1 2; do run put "line/$name" "$www/fresh.txt"; done
run pin - < <(printf 'line/1\n\nline/none\nline/2\n')
expect_match "pin takes ids from stdin, and the code is that of the first that failed" \
    "^3\|\|.*line/none" "$(said)"
run pin --list
expect_equal "the others are pinned" "line/1 line/2" "$(cut --fields=4 "$work/out" | xargs)"
for name in 1 2; do run unpin "line/$name"; done
run evict --yes - < <(printf 'line/1\nline/2\n')
expect_equal "evict takes ids from stdin" "0|line/1 line/2" "$code|$(xargs <"$work/out")"

run evict --yes - < <(printf 'line/1\nline/\377\n')
expect_equal "a line of stdin that is not UTF-8 is refused" \
    "64||cachectl: line 2 of stdin is not UTF-8" "$(said)"
run put $'line/\377' "$www/fresh.txt"
expect_equal "an argument that is not UTF-8 is refused" "64||cachectl: argument 4 is not UTF-8" \
    "$(said)"

# Writes that wait for a person

# write ID MEMBERS: a write to the server that refuses it, with more members.
write() {
    request POST "/v1/modifiers?wait=${3-10s}" --header "Content-Type: application/json" --data \
        "{\"id\":\"$1\",\"changes\":[{\"target\":{\"id\":\"$origin/$1\"},\"effect\":{\"type\":\"merge\",\"value\":{\"a\":1}}}],\"request\":{\"method\":\"POST\",\"url\":\"$origin/refused\",\"body\":1}$2}"
}
for name in 1 2 3; do write "refused-$name" ',"lane":"cart"'; done
run status
expect_match "status warns of writes that failed, with the commands" \
    "^1\|.*3 writes failed permanently.*queue list --state failed .*queue retry --state failed .*queue drop --state failed" \
    "$code|$(tr '\n' ' ' <"$work/out")"
run doctor --config "$config" --json
expect_match "doctor finds them, with their command" "^1 cachectl .*See them: cachectl queue list" \
    "$code cachectl $(jq --raw-output 'select(.subject == "queue") | .fix' "$work/out")"
run queue list --state failed
expect_equal "queue list --state lists those of a state, with what the server answered" \
    "failed 403 failed 403 failed 403" "$(cut --fields=2,10 "$work/out" | xargs)"
run queue list --state failed --json
expect_equal "with the size of its body" 1 "$(jq --slurp '.[0].request.body_bytes' "$work/out")"
run queue show refused-1 --json
expect_equal "queue show --json is what the daemon sent" \
    "$(request GET /v1/modifiers/refused-1 && cat "$work/body")" "$(<"$work/out")"
run queue show refused-1
expect_match "queue show claims of a failed write only that no JSON value is known without it" \
    "without it +no JSON value is known" "$(<"$work/out")"
run queue retry --state unknown --yes
expect_equal "where none is in a state, that is said" \
    "0||cachectl: no write is in the state 'unknown'" "$(said)"
run queue list --state held
expect_equal "and none of another" "0|" "$code|$(<"$work/out")"
run queue retry --state failed
expect_match "without a terminal many are worked on with --yes only" \
    "^64.*3 writes would be queued. Give --yes" "$code $(tr '\n' ' ' <"$work/err")"
run queue retry --state failed --origin lokal --yes
expect_match "an origin that there is not is told" "^3.*did you mean 'local'" "$code $(<"$work/err")"
run queue retry --state failed --origin local --yes
expect_equal "those of a state and an origin are sent again, and counted" \
    "0|refused-1 refused-2 refused-3|cachectl: 3 writes queued" \
    "$code|$(sort "$work/out" | xargs)|$(<"$work/err")"
run queue wait --timeout 30s
run queue drop --state failed --yes
expect_equal "those of a state are dropped, and counted" \
    "0|refused-1 refused-2 refused-3|cachectl: 3 writes dropped" \
    "$code|$(sort "$work/out" | xargs)|$(<"$work/err")"
if command -v script >/dev/null; then
    for name in 1 2; do write "refused-seen-$name" ''; done
    mkfifo "$work/typed"
    script --quiet --return --flush --log-out /dev/null --command \
        "$(printf '%q ' "$bin/cachectl" --socket "$socket" queue drop --state failed)" \
        >"$work/asked" <"$work/typed" &
    asking=$!
    exec 7>"$work/typed"
    await 60 grep --quiet --fixed-strings 'Drop 2 writes?' "$work/asked" ||
        give_up "queue drop asks" "Drop 2 writes?" "$(<"$work/asked")"
    write refused-unseen ''
    printf 'y\n' >&7
    wait "$asking"
    exec 7>&-
    run queue list --state failed --json
    expect_equal "a write that fails while the question is open is not dropped with the others" \
        refused-unseen "$(jq --raw-output .id "$work/out" | xargs)"
    run queue drop refused-unseen
else
    skip "a write that fails while a question is open" "script(1) is not installed"
fi
run status
expect_equal "then all is well" 0 "$code"
run queue list --settled --lane cart --json
expect_equal "the history is listed by a lane's name" "refused-1 refused-2 refused-3" \
    "$(jq --raw-output .id "$work/out" | sort | xargs)"
run queue pause nowhere
expect_match "a lane that nothing has used is paused, and that is said" \
    "^0 .*no write that is known has used the lane name:nowhere" "$code $(<"$work/err")"
run status
expect_match "a paused lane is warned of, with the command" \
    "^1\|.*the lane 'name:nowhere' is paused.*cachectl queue resume 'name:nowhere'" \
    "$code|$(tr '\n' ' ' <"$work/out")"
run queue resume nowhere
write parent ',"hold":"1h"' 0ms
write child ',"depends_on":["parent"]' 0ms
run queue drop parent
expect_equal "queue drop names what goes with it" \
    "0||cachectl: dropped parent, and 1 that depends on it: child" "$(said)"
run get "$origin/a.json" --json --policy cache-then-network
expect_equal "with --json every frame comes" "snapshot unchanged end" \
    "$(jq --raw-output .type "$work/out" | xargs)"
run --json get "$origin/a.json" --policy cache-only
expect_equal "--json may stand before the command" 22 \
    "$(jq 'select(.type == "snapshot").entry.body.a' "$work/out")"
run get "$origin/a.json" --header 'X-Test: 1' --header 'X-Test: 2'
expect_equal "a header given twice is wrong usage" 64 "$code"

"$bin/cachectl" --socket "$socket" get "$origin/large.bin" 2>"$work/err" | head -c 1 >/dev/null
expect_equal "a reader that goes away makes it fail quietly" \
    "1|1" "${PIPESTATUS[0]}|$(wc --lines <"$work/err")"
code=0
"$bin/cachectl" --socket "$socket" ls >/dev/full 2>"$work/err" || code=$?
expect_equal "a full disk is told" "1|cachectl: stdout: No space left on device" \
    "$code|$(<"$work/err")"

# Own bytes

run put note - --type text/plain --ttl 7d <<<hello
expect_equal "put stores stdin and says nothing in a pipe" "0||" "$(said)"
run get note
expect_match "get prints it" '^0\|hello\|cachectl: from the cache, [0-9]+ s old$' "$(said)"
run get note --json
expect_equal "get --json prints the frames of an id" "aGVsbG8K cache" \
    "$(jq --raw-output '.entry.body_b64 // .outcome' "$work/out" | xargs)"
run get not-there --json
expect_equal "and none of an id that is not there" \
    "3||cachectl: nothing is cached under 'not-there'" "$(said)"
run inspect note --json --explain
expect_equal "inspect says what it is" "blob text/plain 6 []" \
    "$(jq --raw-output '"\(.kind) \(.media_type) \(.body_bytes) \(.protected_by)"' "$work/out")"
printf '[1]' >"$work/list.json"
run put list "$work/list.json" --json
expect_equal "put --json says what it did" '{"id":"list","outcome":"created"}' "$(<"$work/out")"
run inspect list
expect_match "the media type is that of the file's name" "media type +application/json" \
    "$(<"$work/out")"
run put list "$work/no such file"
expect_equal "a file that is not there exits 1" \
    "1||cachectl: $work/no such file: No such file or directory" "$(said)"
run put "$origin/own" "$work/list.json"
expect_equal "an id of an origin is refused" 1 "$code"
head -c 50000000 /dev/urandom >"$work/big"
run put big - <"$work/big"
run get big
expect_same_file "50 MB go in and out by pipes" "$work/big" "$work/out"
run put big "$work/big"
run get big
expect_same_file "50 MB go in from a file" "$work/big" "$work/out"
head -c 70000000 /dev/zero | run put huge
head -c 70000000 /dev/zero >"$work/huge"
run put huge "$work/huge"
expect_match "what is larger than the cache takes is told" "^1\|\|cachectl: the body has" "$(said)"
run rm big
expect_equal "rm removes" "0||" "$(said)"
run get big
expect_equal "what is removed exits 3" 3 "$code"
run rm big
expect_equal "rm of nothing exits 3" "3||cachectl: nothing is cached under 'big'" "$(said)"
run --account other get note
expect_equal "another account sees other rows" 3 "$code"

# Lists

run ls
# Without what the origin was asked again for after writes that it had refused.
grep -v "/refused-" "$work/out" >"$work/kept" && mv "$work/kept" "$work/out"
expect_equal "ls prints the ids in order" \
    "$(printf '%s\n' "$origin/a.json" "$origin/fresh.txt" "$origin/large.bin" \
        "$origin/nothing" list note | LC_ALL=C sort)" "$(cut --fields 1 "$work/out")"
expect_equal "in a pipe it has six columns with tabs" "6" \
    "$(awk -F '\t' '{ print NF }' "$work/out" | sort --unique)"
run ls --sort size --limit 1
expect_equal "the largest can come first, and as many as wanted" \
    "$origin/large.bin" "$(cut --fields 1 "$work/out")"
run ls "$origin/f"
expect_equal "ls takes a prefix" "$origin/fresh.txt" "$(cut --fields 1 "$work/out")"
run ls --origin local --json
expect_equal "ls --json has one item a line" 4 "$(grep -v "/refused-" "$work/out" | jq --slurp length)"
for number in $(seq 1 120); do
    request PUT "/v1/entries/many-$number" --data x
done
run ls many-
expect_equal "ls goes through every page" 120 "$(grep --count . "$work/out")"

# Texts that a terminal would obey: a right-to-left override, a zero-width space and C1's CSI

hidden=$'a\xe2\x80\xaeb\xe2\x80\x8bc\xc2\x9bd'
shown='a\u{202E}b\u{200B}c\u{9B}d'
run put "$hidden" - --type text/plain <<<hello
run ls a --json
expect_equal "ls --json has an id as it is" "$hidden" "$(jq --raw-output .id "$work/out")"
run ls "${hidden:0:4}"
expect_equal "ls shows control, bidirectional and zero-width characters escaped" \
    "0|$shown" "$code|$(cut --fields 1 "$work/out")"
run inspect "$hidden"
expect_equal "inspect does too" "0|id $shown" \
    "$code|$(head -n 1 "$work/out" | tr --squeeze-repeats ' ')"
run pin "$hidden"
run pin --list
expect_equal "and pin --list" "$shown" "$(cut --fields 4 "$work/out")"
run unpin "$hidden"
run watch --initial --count 1 "$hidden"
expect_equal "and watch" "$shown" "$(cut --fields 3 "$work/out")"
run evict "$hidden" --dry-run
expect_equal "and evict" "$shown" "$(<"$work/out")"
run put soon --ttl 0s </dev/null
expect_equal "a hint names the message, and no member of the API" "64 Correct what the message names." \
    "$code $(tail -n 1 "$work/err")"
run rm "$hidden"
run rm "$hidden"
expect_equal "and messages of the daemon" "3||cachectl: nothing is cached under '$shown'" "$(said)"
run get "$hidden" --policy cache-only
expect_match "and messages on arguments" "^64 .*'a.u.202E.b.u.200B.c.u.9B.d' is an id" \
    "$code $(tr '\n' ' ' <"$work/err")"
expect_equal "without one of these characters" "" "$(LC_ALL=C grep $'\xe2\x80\|\xc2\x9b' "$work/err")"
run "$hidden"
expect_equal "and an unknown command's" "64" "$code$(LC_ALL=C grep $'\xe2\x80\|\xc2\x9b' "$work/err")"
run queue pause "$hidden"
run status
expect_equal "and status" "1 0" "$code $(LC_ALL=C grep --count $'\xe2\x80\|\xc2\x9b' "$work/out")"
expect_match "with the command that it names" "queue resume 'name:a.u.202E" "$(tr '\n' ' ' <"$work/out")"
run doctor --config "$config"
expect_equal "and doctor" "0" "$(LC_ALL=C grep --count $'\xe2\x80\|\xc2\x9b' "$work/out")"
run queue resume "$hidden"
for url in $'http://a.example/\x01' $'http://a\x1b.example/x' $'http\x07://a.example/x'; do
    run get "$url"
    expect_match "a control character in a URL is reported as such" "^64\|.*contains a control character" \
        "$code|$(tr '\n' ' ' <"$work/err")"
done

# Evictions

run evict --prefix many- --dry-run
expect_equal "a dry run says what would go" "120 0" \
    "$(grep --count . "$work/out") $code"
run ls many-
expect_equal "and lets it stay" 120 "$(grep --count . "$work/out")"
run evict --prefix many-
expect_equal "without a terminal evict needs --yes" \
    "64||cachectl: there is no terminal to ask on" "$(said)"
run evict --prefix many- --yes --json
expect_equal "with --yes it evicts" 120 "$(jq .evicted "$work/out")"
run evict "$origin/a.json" note --yes
expect_equal "evict takes ids and URLs" "$(printf '%s\n' "$origin/a.json" note)" \
    "$(LC_ALL=C sort "$work/out")"
run evict "$origin/a.json" --yes
expect_equal "evicting nothing is no failure" "0||cachectl: there is nothing to evict" "$(said)"

# On a terminal

if command -v script >/dev/null; then
    printf 'old\n' >"$www/t.txt"
    run get "$origin/t.txt"
    printf 'newer\n' >"$www/t.txt"
    on_terminal get "$origin/t.txt"
    expect_equal "on a terminal the network's answer takes the cached one's place" \
        $'0|\e[2A\e[Jnewer' "$code|$(tail -n 2 "$work/out.lines" | head -n 1)"
    expect_equal "the cached answer came first" old "$(grep --max-count 1 '^old' "$work/out.lines")"
    on_terminal get "$origin/large.bin"
    expect_match "a terminal is given no binary" "not shown on a terminal" "$(<"$work/out.lines")"
    printf '\e]0;title\abody\n' >"$www/escape.txt"
    shown=no
    # The last step's output has the same words.
    : >"$work/out"
    script --quiet --return --flush --log-out /dev/null --command \
        "$(printf '%q ' "$bin/cachectl" --socket "$socket" get --follow "$origin/escape.txt")" \
        >"$work/out" </dev/null &
    running=$!
    ! await 30 grep --quiet "not shown on a terminal" "$work/out" || shown=yes
    kill "$running"
    wait "$running" 2>/dev/null
    expect_equal "nor, by --follow, a body that it would obey" "yes 0" \
        "$shown $(grep --count $'\e' "$work/out")"
    answer=n on_terminal evict --prefix "$origin/t"
    expect_match "on a terminal evict asks, and no means no" \
        "^1\|.*Evict 1 entry.*nothing was evicted" "$code|$(tr '\n' ' ' <"$work/out.lines")"
    answer=y on_terminal evict --prefix "$origin/t"
    expect_match "and yes means yes" "^0\|.*evicted 1 entry" \
        "$code|$(tr '\n' ' ' <"$work/out.lines")"
    on_terminal status
    expect_match "on a terminal there is colour" $'\e\\[32m' "$(<"$work/out.lines")"
    NO_COLOR=1 on_terminal status
    expect_match "but not with NO_COLOR" "0 0" "$code $(grep --count $'\e' "$work/out.lines")"
else
    skip "cachectl on a terminal" "script(1) is not installed"
fi

# Offline

run get "$origin/a.json"
request GET /v1/status
sed 's/}$/,"later":{"a":1.50}}/' "$work/body" >"$www/status"
"$bin/cachectl" --socket "$work/later.sock" status --json >"$work/out"
expect_equal "--json passes on what a later daemon tells" "$(<"$www/status")" "$(<"$work/out")"
request GET "/v1/entries?limit=2"
sed 's/"next":.*/"next":null}/; s/"id":/"later":1.50,&/g' "$work/body" >"$www/entries"
"$bin/cachectl" --socket "$work/later.sock" ls --json >"$work/out"
expect_equal "also of the items of a list" "1.50 1.50" \
    "$(grep --only-matching '1\.50' "$work/out" | xargs)"
stop_nginx
run get "$origin/a.json"
expect_match "offline the cached answer comes" '^0\|\{"a":22\}\|cachectl: from the cache' \
    "$(said)"
run get "$origin/a.json" --fresh
expect_equal "with --fresh a stale one is none" "75|" "$code|$(<"$work/out")"
run get "$origin/never"
expect_equal "a miss exits 75" "75|" "$code|$(<"$work/out")"
expect_equal "with a message and a hint" 2 "$(grep --count . "$work/err")"

# Status and permission

run status
expect_match "status exits 0 while all is well" "^0\|.*healthy" "$code|$(<"$work/out")"
run status --json
expect_equal "status --json is the API's" ok "$(jq --raw-output .state "$work/out")"
run stats
expect_match "stats has what was counted and how long it took" \
    "^0\|.*lookups +hits: [1-9].*requests .*2xx.*put .*fetches .*time .*network .* ms" \
    "$code|$(<"$work/out")"
run stats --json
expect_equal "stats --json is the API's" "true true" "$(jq --raw-output \
    '"\(.latencies.put.count > 0) \([.fetches[].count] | add > 0)"' "$work/out")"

chmod 600 "$socket"
run doctor --config "$config"
expect_match "doctor leaves a private socket as it is" "^0\|.*ok +socket: " \
    "$code|$(tr '\n' ' ' <"$work/out")"
chmod 711 "$work" "$work/run"
if ((EUID != 0)); then
    chmod 000 "$socket"
    run status
    expect_match "who may not open the socket is told what to do" "^77.*cachectl --system" \
        "$code $(<"$work/err")"
elif setpriv --reuid 65534 --clear-groups "$bin/cachectl" --version >/dev/null 2>&1; then
    code=0
    setpriv --reuid 65534 --clear-groups "$bin/cachectl" --socket "$socket" status \
        2>"$work/err" || code=$?
    expect_match "who may not open the socket is told what to do" "^77.*daemon belongs to uid 0.*cachectl --system" \
        "$code $(tr '\n' ' ' <"$work/err")"
else
    skip "who may not open the socket is told what to do" "another user cannot run cachectl"
fi

# Where the bytes are

run put doc/1 "$www/large.bin"
run df
expect_match "df says where the bytes are" \
    "^0\|.*cache .* of 512 MiB.*yours .* of bodies.*cache.db .* of log.*state.db.*disk .* free" \
    "$code|$(tr '\n' ' ' <"$work/out")"
run df -v
expect_match "df -v says it by origin and names the largest" "^0\|.*ORIGIN.*local.*LARGEST.*doc/1" \
    "$code|$(tr '\n' ' ' <"$work/out")"
run df --json
expect_equal "df --json is the API's, and its sums are those of the rows" \
    "$("$bin/cachectl" --socket "$socket" ls --json | jq --slurp 'map(.accounted_bytes) | add')" \
    "$(jq .accounted_bytes "$work/out")"
run df --all-users --json
expect_equal "df --all-users adds up what status says" "$(status_of .cache.accounted_bytes)" \
    "$(jq '[.by_user[].accounted_bytes] | add' "$work/out")"

request PUT /v1/pins/doc%2F1
run pin --wait 1ms "$origin/b.json"
run df --json
expect_equal "df counts nothing less than nothing" true \
    "$(jq '[.. | numbers] | min >= 0' "$work/out")"
run df
expect_match "df says apart what is pinned, and what of it waits" \
    "pins +29.* KiB, 2 pins, of which 1 waiting; all pins: 29.* KiB of 1 GiB" "$(<"$work/out")"
run df --json
expect_equal "df --json has the sums of status and the lengths of both files" \
    "$(status_of '.pins | "\(.count) \(.waiting) \(.accounted_bytes) \(.max_bytes)"') true true" \
    "$(jq --raw-output '"\(.pins | "\(.count) \(.waiting) \(.accounted_bytes) \(.max_bytes)") \(
        [.files[].name] == ["cache.db", "state.db"]) \([.files[].bytes | . > 0] | all)"' "$work/out")"

# Origins that are added

# by_type: the members that have type and id, and the key of the type that the file names.
by_type() {
    jq --raw-output '.settings.normalize | [.by_type.type, .types[0].key | tojson] | join(" ")' "$work/out"
}
shop=(http://127.0.0.1:9/shop --graphql /graphql --normalize "$work/rules.yaml" --json)
printf 'types: [{type: Book, key: [isbn]}]\n' >"$work/rules.yaml"
run origin add shop "${shop[@]}"
expect_equal "--graphql sets by_type with the rules of a file, too (S31)" \
    '0 ["__typename","type","@type"] ["isbn"]' "$code $(by_type)"
printf 'by_type: {type: [kind]}\ntypes: [{type: Book, key: [isbn]}]\n' >"$work/rules.yaml"
run origin add shop --replace "${shop[@]}"
expect_equal "unless the file has a by_type" '0 ["kind"] ["isbn"]' "$code $(by_type)"
printf 'typos: []\npath: []\n' >"$work/rules.yaml"
run origin add shop --replace "${shop[@]}"
expect_equal "each error of a file of rules has its own line" "1 2 0" \
    "$code $(grep --count "rules.yaml:[12]:1: there is no key" "$work/err") $(grep --count 'u{A}' "$work/err")"

run origin add search http://127.0.0.1:9/search
post='{"url":"http://127.0.0.1:9/search/books","method":"POST","body_text":"x","content_type":"text/plain"}'
request POST /v1/fetch --json "$post"
expect_equal "a POST to a path that no setting names is no read (S31)" "422 urn:larder:not-a-read" \
    "$status $(member .type)"
# Word by word as the hint says.
eval "run $(member .hint | sed 's/.*: cachectl \(.*\) (for GraphQL.*/\1/')"
expect_equal "the command of the hint succeeds" 0 "$code"
request POST /v1/fetch --json "$post"
expect_equal "then it is a read" "502 urn:larder:unreachable" "$status $(member .type)"
run origin rm shop
run origin rm search

# What is wrong

run doctor --config "$config"
expect_equal "a doctor who finds nothing exits 0" 0 "$code"
expect_equal "it looked at everything" \
    "cache.db clock configuration disk log permissions reserve socket state.db version you" \
    "$(sed -nE 's/^ok +([a-z.]+): .*/\1/p' "$work/out" | sort --unique | paste --serial --delimiters ' ')"
expect_match "it says how the daemon sees you" "you: uid $EUID, groups .*; an administrator" \
    "$(<"$work/out")"
chmod 0755 "$work/state"
printf 'cahce: {}\n' >"$work/bad.yaml"
run doctor --config "$work/bad.yaml" --json
expect_equal "one who finds a bad configuration exits 78 and says each finding with its fix" \
    "78|configuration failed larderd --check-config;permissions warning chmod 0700 '$work/state'" \
    "$code|$(jq --raw-output 'select(.state != "ok")
        | "\(.subject) \(.state) \(.fix | sub("^See: "; "") | sub(" --config.*"; ""))"' "$work/out" \
        | paste --serial --delimiters ';')"
chmod 0700 "$work/state"
# In one step, as the daemon makes it again when it is gone.
ln -s nowhere "$work/link"
mv --no-target-directory "$work/link" "$work/state/reserve"
run doctor --config "$config" --json
expect_equal "a reserve that is not held is told with its fix" \
    "1|ok null;warning mv '$work/state/reserve' '$work/state/reserve.aside'" \
    "$code|$(jq --raw-output 'select(.subject == "reserve") | "\(.state) \(.fix)"' "$work/out" \
        | paste --serial --delimiters ';')"
rm "$work/state/reserve"

# Secrets that all users can read: in the file, in one of the folder beside it, and a key's.
open=$(mktemp -d /tmp/larder-open.XXXXXX)
chmod 755 "$open"
mkdir "$open/origins.d"
cat >"$open/larder.yaml" <<END
storage: {cache_directory: $work/cache, state_directory: $work/state}
origins:
  plain: {base_url: "http://a.example"}
  named: {base_url: "http://b.example", headers: {Authorization: "Bearer hunter2"}}
END
printf 'base_url: http://c.example\nproxy: "http://u:hunter2@proxy.example:3128"\n' \
    >"$open/origins.d/proxied.yaml"
chmod 644 "$open/larder.yaml" "$open/origins.d/proxied.yaml"
secrets() {
    run doctor --config "$open/larder.yaml" --json
    jq --raw-output 'select(.subject == "secrets") | "\(.state) \(.detail)"' "$work/out" |
        sed "s|$open/||" | paste --serial --delimiters ';'
}
expect_equal "doctor warns of files with secrets that all users can read" \
    "warning all users can read larder.yaml, which has headers of the origin 'named';warning all users can read origins.d/proxied.yaml, which has the proxy's password of the origin 'proxied'" \
    "$(secrets)"
expect_equal "and does not repeat them" "" "$(grep hunter2 "$work/out" "$work/err")"
chmod 640 "$open/larder.yaml"
expect_match "not of one that others cannot read" "^warning all users can read origins.d/proxied.yaml[^;]*$" \
    "$(secrets)"
chmod 750 "$open/origins.d"
expect_equal "nor of one in a folder that others cannot enter" "" "$(secrets)"
chmod 755 "$open/origins.d"
chmod 644 "$open/larder.yaml" "$open/origins.d/proxied.yaml"
sed --in-place '/named/d' "$open/larder.yaml"
printf 'base_url: http://c.example\n' >"$open/origins.d/proxied.yaml"
expect_equal "nor of one without secrets" "" "$(secrets)"
# Files of secrets, which the configuration only names.
printf 'Bearer hunter2\n' >"$open/token"
cp "$open/token" "$open/ada"
chmod 644 "$open/token" "$open/ada"
printf 'origins: {a: {base_url: "http://a.example", headers: {Authorization: {file: %s}}, %s}}\n' \
    "$open/token" "credential: {file: $open/ada, users: [0]}" >"$open/larder.yaml"
expect_equal "doctor warns of the file of a secret, not of the one that names it" \
    "warning all users can read ada, which has origins.a.credential;warning all users can read token, which has origins.a.headers.Authorization" \
    "$(secrets)"
# A file of a secret that only the daemon may read.
mkdir "$open/larder"
cp "$open/larder.yaml" "$open/larder/larder.yaml"
chmod 755 "$open/larder"
chmod 644 "$open/larder/larder.yaml"
chmod 600 "$open/token"
other=(setpriv --reuid 65534 --clear-groups)
if ((EUID != 0)); then
    chmod 000 "$open/token"
    other=()
fi
if "${other[@]}" "$bin/cachectl" --version >/dev/null 2>&1; then
    HOME=/ XDG_CONFIG_HOME=$open "${other[@]}" "$bin/cachectl" --socket "$open/none" doctor --json \
        >"$work/out" 2>"$work/err" || true
    expect_match "doctor skips a configuration with a file that only the daemon may read" \
        "^skipped $open/larder/larder.yaml:1:[0-9]+: $open/token cannot be read: Permission denied" \
        "$(jq --raw-output 'select(.subject == "configuration") | "\(.state) \(.detail)"' "$work/out")"
else
    skip "doctor skips a configuration with a file that only the daemon may read" \
        "another user cannot run cachectl"
fi
rm -r "$open"

run doctor
expect_match "doctor looks at the file that the daemon has read" "configuration: $config is valid" \
    "$(<"$work/out")"
touch "$config"
run doctor
expect_match "and says when it was changed since" "^1\|.*$config was changed after larderd had read it" \
    "$code|$(tr '\n' ' ' <"$work/out")"

# Completions

for shell in bash zsh fish; do
    run --generate-completion-script "$shell"
    expect_match "completions of $shell know the commands" "^0\|.*inspect" \
        "$code|$(tr '\n' ' ' <"$work/out")"
done
run --generate-completion-script bash
expect_equal "bash can read its completions" "" "$(bash -n "$work/out" 2>&1)"

end_daemon TERM
run doctor --config "$config"
expect_match "without a daemon, doctor looks at the rest and exits 69" \
    "^69\|ok +configuration: .* is valid.*failed +daemon: no larderd answers" \
    "$code|$(tr '\n' ' ' <"$work/out")"

# What larderd says before it begins

touch "$work/file"
printf 'storage: {cache_directory: %s, state_directory: %s}\n' "$work/file/cache" "$work/state" \
    >"$work/bad.yaml"
code=0
timeout 20 "$bin/larderd" --config "$work/bad.yaml" 2>"$work/err" || code=$?
expect_match "a cache directory that cannot be made is an error of the configuration, by its key" \
    "^78 larderd: storage.cache_directory: $work/file.* " "$code $(<"$work/err")"
LARDER_ACCESS_ADMIN_GROUP=none-such "$bin/larderd" --config "$config" --check-config 2>"$work/err"
expect_match "a group of administrators that does not exist is told" \
    "access.admin_group: there is no group 'none-such'" "$(<"$work/err")"
code=0
"$bin/larderd" --config "$work/"$'a\r\n<3>b\ec' --check-config 2>"$work/err" || code=$?
expect_match "what has line ends and control characters is one line of larderd's log without them" \
    "^78 1 larderd: $work/a  <3>b c: the configuration" \
    "$code $(grep --count '' "$work/err") $(<"$work/err")"
finish
