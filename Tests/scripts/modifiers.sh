# What the scripts about the queue of modifiers share. Source it after support.sh.
# shellcheck shell=bash
# What support.sh sets, and variables of jq.
# shellcheck disable=SC2154,SC2016

# change ID PATH EFFECT [MEMBERS] [QUERY]: gives the daemon a modifier of one change; MEMBERS are
# further members of it, as an object.
change() {
    local more=${4:-}
    modify "$(jq --null-input --compact-output --arg id "$1" --arg target "$origin$2" \
        --argjson effect "$3" --argjson more "${more:-null}" \
        '{id: $id, changes: [{target: {id: $target}, effect: $effect}]} + $more')" "${5:-}"
}

# merge ID PATH VALUE [MEMBERS] [QUERY]: the same with a merge.
merge() {
    change "$1" "$2" "{\"type\": \"merge\", \"value\": $3}" "${@:4}"
}

# send ID METHOD PATH BODY [MEMBERS]: the same with a request that changes nothing here.
send() {
    local more=${5:-}
    modify "$(jq --null-input --compact-output --arg id "$1" --arg method "$2" \
        --arg url "$origin$3" --argjson body "$4" --argjson more "${more:-null}" \
        '{id: $id, request: {method: $method, url: $url, body: $body}} + $more')"
}

# modify JSON [QUERY]
modify() {
    request POST "/v1/modifiers${2:-}" --header 'Content-Type: application/json' --data "$1"
}

# modifier ID [FILTER]: what the daemon says of it.
modifier() {
    api "http://larder/v1/modifiers/$1" | jq --raw-output "${2:-.}"
}

# How a modifier ended, or what it still is after a while: its state and the reason.
fate() {
    api "http://larder/v1/modifiers/$1?wait=45s" \
        | jq --raw-output '[.state // .type, .reason // empty] | join(" ")'
}

# settles NAME: nothing is left that is to be sent.
settles() {
    expect_equal "$1" "" \
        "$(api 'http://larder/v1/modifiers?state=unsettled&wait=45s' | jq --compact-output \
            '.items[] | [.id, .state, .waiting_for]')"
}

# What `await` asks.
is_in_state() {
    [[ $(modifier "$1" .state) == "$2" ]]
}
holds() {
    [[ $(origin_of .held) == "$1" ]]
}

# has_state NAME ID STATE: comes to be in a state that lasts.
has_state() {
    if await 60 is_in_state "$2" "$3"; then
        ok "$1"
    else
        not_ok "$1" "$3" "$(modifier "$2")"
    fi
}

# arrives NAME COUNT: so many requests are held by the origin.
arrives() {
    if await 60 holds "$2"; then ok "$1"; else not_ok "$1" "$2 are held" "$(origin_of .)"; fi
}

# view PATH [QUERY]: what is shown under the origin's path; its head is in the file `head`.
view() {
    request GET "$(entry "$origin$1")${2:-}"
    if [[ $status == 200 ]]; then
        member 'tojson'
    else
        printf '%s %s\n' "$status" "$(member .type)"
    fi
}

# What was said beside the last view: how many are pending, how many failed, whether it is whole.
marks() {
    printf '%s %s %s\n' "$(header Larder-Pending)" "$(header Larder-Failed)" \
        "$(header Larder-Complete)"
}

# store PATH JSON: another device writes a document.
store() {
    at_origin PUT "$1" --header 'Content-Type: application/json' --data "$2" --output /dev/null
}

# The keys of the effects on what stands under a path's beginning, in order; what another device
# writes has none.
effect_keys() {
    effects --arg prefix "$1" 'select(.path | startswith($prefix)) | .key // empty' \
        | paste --serial --delimiters ' '
}

# The keys of the writes that came for what stands under it.
received_keys() {
    received --arg prefix "$1" 'select(.path | startswith($prefix)) | .key // empty' \
        | paste --serial --delimiters ' '
}

set_origin() {
    local offline=false
    [[ $1 == online ]] || offline=true
    request PATCH "/v1/origins/${2:-local}" --header 'Content-Type: application/json' \
        --data "{\"offline\": $offline}"
}

# act ACTION ID: an action on a modifier. `status` is 200, or that of its problem.
act() {
    request POST /v1/modifiers/actions --header 'Content-Type: application/json' \
        --data "{\"action\": \"$1\", \"ids\": [\"$2\"]}"
    [[ $(member '.items[0].problem') == null ]] || {
        status=$(member '.items[0].problem.status')
        jq '.items[0].problem' "$work/body" >"$work/problem" && mv "$work/problem" "$work/body"
    }
}
