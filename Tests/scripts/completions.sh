#!/usr/bin/env bash
# The words that a shell offers for cachectl: from the script of bash, with the real daemon. Names of
# lanes, users and origins are the daemon's; policies and states are those of the document.
# `await` calls a function by its name.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

unset XDG_RUNTIME_DIR
export LARDER_SOCKET=$socket
bin=$(realpath "$bin")
PATH=$bin:$PATH
cachectl --generate-completion-script bash >"$work/completions"

# offered WORD...: what bash offers for the last word of a command line, sorted, in one line.
offered() {
    # shellcheck disable=SC2016
    bash -c '
        source "$0"
        COMP_WORDS=(cachectl "$@") COMP_CWORD=$# COMP_LINE="cachectl $*" COMPREPLY=()
        COMP_POINT=${#COMP_LINE}
        _cachectl cachectl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"' "$work/completions" "$@" | sort | paste --serial --delimiters ' '
}

# expect_offered WHAT WORDS WORD...: the daemon's words, which come in time or not at all.
expect_offered() {
    local what=$1 wanted=$2 words
    shift 2
    has_words() {
        words=$(offered "$@")
        [[ $words == "$wanted" ]]
    }
    await 60 has_words "$@"
    expect_equal "$what" "$wanted" "$words"
}

# known NAME: the values of an enumeration of the wire.
known() {
    jq --raw-output --arg name "$1" '.components.schemas[$name].oneOf[].const' schema/openapi.json |
        sort | paste --serial --delimiters ' '
}

# shellcheck disable=SC2119
start_origin
configure <<END
origins:
  api: {base_url: "$origin", allow_private: true, normalize: {by_type: true}}
END

expect_equal "policies need no daemon" "$(known FetchPolicy)" "$(offered get --policy '')"
expect_equal "a policy that was begun is completed" "network-first network-only" \
    "$(offered get --policy network)"
expect_equal "states are offered" "$(known ModifierState)" "$(offered queue list --state '')"
expect_equal "a state that was begun is completed" "failed" "$(offered queue retry --state fa)"
expect_equal "without a daemon no lane is offered" "" "$(offered queue pause '')"
expect_equal "without a daemon no user is offered" "" "$(offered queue list --uid '')"

start_daemon
expect_equal "without a write no lane is offered" "" "$(offered queue pause '')"
at_origin PUT /a --data '{"n": 1}'
api --output "$work/body" http://larder/v1/modifiers --json \
    '{"lane":"cart","hold":"1h","changes":[{"target":{"id":"'"$origin"'/a"},
        "effect":{"type":"merge","value":{"n":2}}}]}'
cachectl queue pause name:coupons 2>"$work/err" >"$work/out"
id=$(member .id)

lanes="id:$origin/a name:cart name:coupons"
expect_offered "lanes of writes and paused lanes are offered" "$lanes" queue pause ''
expect_offered "a lane that was begun is completed" "name:cart name:coupons" queue pause name:c
# zsh takes what comes after a colon for a description. The last line is the parser's own.
offered_to_zsh() {
    SAP_SHELL=zsh cachectl ---completion queue pause -- positional@0 3 0 cachectl queue pause '' |
        head --lines -1 | sort | paste --serial --delimiters ' '
}
has_lanes() {
    words=$(offered_to_zsh)
    [[ $words == *coupons* ]]
}
await 60 has_lanes
expect_equal "zsh has each colon of a word escaped" "${lanes//:/\\:}" "$words"
expect_offered "without name:, too" "cart" queue resume ca
expect_offered "as for --lane" "coupons" queue list --lane cou
expect_offered "users who have writes are offered to administrators" "$(id -u)" queue list --uid ''

# Ids of writes are those in the state that a subcommand works on (S3).
expect_offered "a write that waits is offered to be cancelled" "$id" queue cancel ''
expect_equal "and not to be sent again" "" "$(offered queue retry '')"
at_origin PUT /b --data '{"n": 1}'
control '{"prefix":"/b","method":"PATCH","times":1,"status":422}'
api --output "$work/body" 'http://larder/v1/modifiers?wait=10s' --json \
    '{"id":"refused","changes":[{"target":{"id":"'"$origin"'/b"},
        "effect":{"type":"merge","value":{"n":2}}}]}'
expect_equal "the origin refuses a write" "failed" "$(member .state)"
expect_offered "a write that failed is offered to be sent again" "refused" queue retry ''
expect_offered "and to be dropped" "refused" queue drop ''
expect_offered "to be cancelled only what is not settled" "$id" queue cancel ''
expect_offered "to be shown all of them" "$id refused" queue show ''
expect_offered "a write whose id was begun is completed" "refused" queue show ref
cachectl queue drop refused >"$work/out"

cachectl queue cancel "$id" >"$work/out"
cachectl put note --type text/plain <<<x >"$work/out"
expect_offered "users who have entries are offered" "$(id -u)" purge --uid ''
expect_equal "a number that no user begins with is not completed" "" "$(offered ls --uid 99999)"

# Ids are those of entries that begin with what was typed, of entities after entity: (S3).
at_origin PUT /books --json '{"items":[{"type":"Book","id":1,"title":"a"},{"type":"Book","id":2,"title":"b"}]}'
cachectl prefetch tonight "$origin/books" >"$work/out" 2>&1
expect_equal "a set is held" 0 "$?"
expect_offered "a set whose name was begun is completed (S3)" "tonight" prefetch to
expect_offered "entities are offered (S3)" "entity:api/Book:1 entity:api/Book:2" get entity:api/
expect_offered "an entity that was begun is completed" "entity:api/Book:2" inspect entity:api/Book:2
api --request PUT --data x 'http://larder/v1/entries/many-[10-69]' >"$work/body"
expect_offered "of 60 ids 50 are offered (S3)" "$(printf 'many-%s\n' {10..59} | paste --serial --delimiters ' ')" \
    get many-
for place in "queue retry --origin" "evict --origin" "get --origin" "queue list --origin"; do
    # shellcheck disable=SC2086
    expect_offered "origins are offered for $place" "api" $place ''
done
finish
