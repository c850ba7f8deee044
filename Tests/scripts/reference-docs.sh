#!/usr/bin/env bash
# The reference pages of docs/ agree with the tree: generated parts, numbers of guarantees, tests and
# log events that the pages name.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

if command -v python3 >/dev/null; then
    expect_equal "the generated parts are what scripts/generate-docs writes" "" \
        "$(LARDER_BIN=$bin scripts/generate-docs --check 2>&1)"
else
    skip "the generated parts are what scripts/generate-docs writes" "there is no python3"
fi

# cited WORD: the numbers that comments, test names and checks cite after a word, such as `case 7, 29`.
cited() {
    grep --recursive --no-filename --extended-regexp --only-matching --ignore-case \
        "(//|\"|# ).*\\b$1s? [0-9]+((, | and )[0-9]+)*" Sources Tests \
        | grep --invert-match 'RFC' \
        | grep --extended-regexp --only-matching --ignore-case "\\b$1s? [0-9]+((, | and )[0-9]+)*" \
        | grep --extended-regexp --only-matching '[0-9]+' | sort --numeric-sort --unique
}

guarantees=docs/guarantees.md
{
    grep --recursive --no-filename --extended-regexp --only-matching '\bP-[0-9]{2}\b' Sources Tests \
        | tr 'P' 'p' | sort --unique
    cited case | sed 's/^/case-/'
    cited rule | sed 's/^/rule-/'
} >"$work/cited"
sed --quiet 's/^<a id="\(.*\)"><\/a>$/\1/p' "$guarantees" | sort >"$work/published"
expect_equal "$guarantees has every number that is cited" "" \
    "$(sort "$work/cited" | comm -23 - "$work/published" | xargs)"
expect_match "numbers are cited" '^[1-9][0-9]' "$(wc -l <"$work/cited")"

# Links from docs/ to tests, sources, schemas and the configuration.
missing=
while read -r target; do
    [[ -e docs/$target ]] || missing+=" $target"
done < <(grep --no-filename --extended-regexp --only-matching \
    ']\(\.\./(Tests|Sources|Benchmarks|schema|config)/[^)#]*' docs/*.md | cut --characters=3- | sort --unique)
expect_equal "links from docs/ into the tree lead to files" "" "$missing"

# The events are the first cells of a table.
# shellcheck disable=SC2016
event_names() { sed --quiet '/^| event/,/^$/s/^| `\([^`]*\)`.*/\1/p' docs/operations.md; }
events=0
while read -r event; do
    events=$((events + 1))
    grep --recursive --quiet --fixed-strings "\"$event\"" Sources \
        || not_ok "docs/operations.md: the event '$event'" "a string of Sources" "none"
done < <(event_names)
expect_match "docs/operations.md has events of the log" '^[1-9][0-9]' "$events"
finish
