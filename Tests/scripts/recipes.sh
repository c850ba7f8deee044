#!/usr/bin/env bash
# The programs of docs/recipes.md in Go, Ruby and PHP: each reads, writes while the origin is away,
# and follows until the origin has the write. docs.sh runs the lines for curl.
# A language that is not installed is installed, as Debian has it; without a network it is left out.
# Runs alone: it may install packages, and dpkg has one lock.
# `await` calls functions by their names; the page is only read.
# shellcheck disable=SC2317,SC2119,SC2094
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

declare -A packages=([go]=golang-go [ruby]=ruby [php]=php-cli)
missing=()
for program in "${!packages[@]}"; do
    command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
php --ri curl >/dev/null 2>&1 || missing+=(php-curl)
# shellcheck source=scripts/lib.sh
((${#missing[@]} == 0)) || (source scripts/lib.sh && install_packages "${missing[@]}") || true

# block NAME: the block of the page that is a file of this name.
block() {
    sed -n "/^\`\`\`[a-z]* $1\$/,/^\`\`\`\$/p" docs/recipes.md | sed '1d;$d'
}

# has_lines FILE COUNT
has_lines() {
    (($(wc -l <"$1") >= $2))
}

start_origin
configure <<END
origins:
  demo: {base_url: "$origin", allow_private: true, modifiers: {idempotency: {honoured: true}}}
END
start_daemon

# recipe NAME FILE COMMAND...: the program of the page, through an outage of the origin.
recipe() {
    local name=$1 file=$work/$2 url=$origin/$1.json out=$work/$1.out program
    shift 2
    block "$(basename "$file")" >"$file"
    if ! command -v "$1" >/dev/null; then
        skip "the recipe for $name" "there is no $1"
        return
    fi
    at_origin PUT "/$name.json" --json '{"hello":"world"}'
    fetch "$url"
    stop_origin
    LARDER_SOCKET=$socket GOCACHE=$work/go GOFLAGS=-mod=mod "$@" "$file" "$url" >"$out" 2>"$work/$name.err" &
    program=$!
    await 240 has_lines "$out" 3 || not_ok "the recipe for $name shows its write" "three lines" \
        "$(cat "$out" "$work/$name.err")"
    start_origin
    await 240 has_lines "$out" 4 || kill "$program"
    ended=0
    wait "$program" || ended=$?
    expect_equal "the recipe for $name ends" 0 "$ended"
    expect_equal "the recipe for $name reads, writes and follows" \
        "$(sed -n '/^read {/,/^```/p' docs/recipes.md | sed '$d')" "$(<"$out")"
    expect_equal "the origin has the write of the recipe for $name" '{"hello":"you"}' \
        "$(at_origin GET "/$name.json")"
}

recipe Go recipe.go go run
recipe Ruby recipe.rb ruby
recipe PHP recipe.php php
finish
