#!/usr/bin/env bash
# What cachectl says on a terminal while something takes long: the daemon is stopped meanwhile.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

unset LARDER_SOCKET NO_COLOR

if ! command -v script >/dev/null; then
    skip "cachectl on a terminal" "script(1) is not installed"
    finish
fi

printf 'body\n' >"$www/a.txt"
configure_nginx <<<''
start_nginx
configure <<END
origins: {web: {base_url: "$origin", allow_private: true}}
END
start_daemon
fetch "$origin/a.txt"

# slowly NAME WORDS ARGUMENTS: runs cachectl on a terminal, with a daemon that goes on only when the
# words are shown. All of it is in `out`, the exit code in `code`.
slowly() {
    local name=$1 line="cachectl: $2, " shown=yes running out
    shift 2
    rm -f "$work/out"
    kill -STOP "$daemon"
    script --quiet --return --flush --log-out /dev/null --command \
        "stty cols 80 rows 24; $(printf '%q ' "$bin/cachectl" --socket "$socket" "$@")" \
        >"$work/out" </dev/null &
    running=$!
    await 60 grep --quiet --fixed-strings "$line" "$work/out" || shown=no
    kill -CONT "$daemon"
    code=0
    wait "$running" || code=$?
    expect_equal "$name says what is waited for" yes "$shown"
    out=$(<"$work/out")
    expect_match "$name says for how long, and takes the line away" $'^[0-9]+ s\r\e\\[K' \
        "${out##*"$line"}"
}

# quietly NAME ARGUMENTS: the same with stderr elsewhere, which says nothing of it.
quietly() {
    local name=$1
    shift
    "$bin/cachectl" --socket "$socket" "$@" >"$work/out" 2>"$work/err" </dev/null
    expect_equal "$name draws nothing where no person looks" 0 "$(grep --count $'\e' "$work/err")"
}

slowly get "asking for $origin/a.txt" get "$origin/a.txt"
expect_match "get then prints the body" "^0|.*body" "$code|$(<"$work/out")"
slowly "get -o" "asking for $origin/a.txt" get -o "$work/file" "$origin/a.txt"
expect_equal "get -o then has the file" "0|body" "$code|$(<"$work/file")"
slowly pin "waiting for $origin/a.txt to be held" pin "$origin/a.txt"
expect_equal "pin is then held" "0|held" \
    "$code|$(request GET /v1/pins; member '.items[0].state')"
slowly "queue wait" "waiting for what is to be sent" queue wait
expect_match "queue wait then ends" "^0|.*everything is settled" "$code|$(<"$work/out")"
slowly evict "evicting" evict --all --include-pinned --yes
expect_match "evict then says what went" "^0|.*evicted 1 entry" "$code|$(<"$work/out")"

quietly get get "$origin/a.txt"
quietly pin pin "$origin/a.txt"
quietly "queue wait" queue wait
quietly evict evict --all --include-pinned --yes

finish
