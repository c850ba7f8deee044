# The rows of a case of commit-kill.sh, the commands, and what these make of those. Source it after
# modifiers.sh.
# shellcheck shell=bash
# What support.sh sets; and what is called by its name or read there.
# shellcheck disable=SC2154,SC2317,SC2034,SC2119,SC2120

# A case has rows of its own. Each is an origin's but x and y, which are a client's blobs.
#   a  cached             accept targets it
#   b  pinned             news replaces it
#   c  cached, targeted   news replaces its base
#   d  cached, targeted   its modifier is at the origin, which has settle confirm it, refuse refuse it
#   e  unknown            the others' accept targets it
#   f  cached             the others' pin
#   g  cached             pin pins it
#   h  pinned             unpin unpins it
#   x  unknown, y pinned  the others' puts
rows=(a b c d e f g h x y)
number=0
large_bytes=
loses=
declare -A id path document value

# Names the rows of a case, and writes two documents for each, small or, but for c and d,
# as large as asked for. What stands for the content of one is itself, or its digest.
make_documents() {
    local row version name
    number=$((number + 1))
    rm -rf "$work/documents" "$work/got"
    mkdir "$work/documents" "$work/got"
    for row in "${rows[@]}"; do
        id[$row]=$origin/$number-$row
        [[ $row != [xy] ]] || id[$row]=$number-$row
        name=${id[$row]//:/%3A}
        path[$row]=${name//\//%2F}
        for version in 1 2; do
            name=$work/documents/$row$version
            document[$row$version]=$name
            if [[ -n $large_bytes && $row != [cd] ]]; then
                yes "$number $row $version" | head -c "$large_bytes" >"$name"
            else
                printf '{"n":%d}' "$version" >"$name"
            fi
            read_value "$row$version" "$name"
        done
    done
}
# read_value KEY FILE: sets ${value[KEY]}.
read_value() {
    if [[ -n $large_bytes && $(stat -c %s "$2") -gt 200 ]]; then
        value[$1]=$(md5sum <"$2" | cut -c 1-32)
    else
        value[$1]=$(<"$2")
    fi
}

# -- requests, many by one curl

# What became of each: its status, its Larder-Rev, and in the file `got/NAME` its answer.
declare -A code told
# ask NAME METHOD URL-OR-PATH [curl's option VALUE]...: one more to be sent by `answers`.
ask() {
    local name=$1 method=$2 url=$3
    shift 3
    {
        [[ ! -s $work/asked ]] || echo next
        if [[ $url == /* ]]; then
            printf 'unix-socket = "%s"\nurl = "http://larder%s"\n' "$socket" "$url"
        else
            printf 'url = "%s"\n' "$url"
        fi
        printf 'request = %s\nsilent\nmax-time = 60\noutput = "%s"\n' "$method" "$work/got/$name"
        while (($# > 1)); do
            printf '%s = "%s"\n' "$1" "${2//\"/\\\"}"
            shift 2
        done
        printf 'write-out = "%s %%{http_code} %%header{larder-rev}\\n"\n' "$name"
    } >>"$work/asked"
}
# answers [curl's options]: sends what was asked and waits for all of it.
answers() {
    local name status rev
    curl --disable "$@" --config "$work/asked" >"$work/answered" 2>/dev/null
    rm "$work/asked"
    while read -r name status rev; do code[$name]=$status told[$name]=$rev; done <"$work/answered"
}

json=(header "Content-Type: application/json")
# ask_accept NAME ROW EFFECT [MEMBERS]: a modifier, which is not sent unless MEMBERS say so.
ask_accept() {
    ask "$1" POST /v1/modifiers "${json[@]}" data "{\"id\":\"$number-$1\",${4-\"hold\":\"1h\",}\
        \"changes\":[{\"target\":{\"id\":\"${id[$2]}\"},\"effect\":$3}]}"
}
# ask_document ROW VERSION: another device writes it.
ask_document() {
    local type=application/json
    [[ -z $large_bytes || $1 == [cd] ]] || type=text/plain
    ask "put-$1" PUT "${id[$1]}" header "Content-Type: $type" data-binary "@${document[$1$2]}"
}

# -- what a command makes of what

facts=()
# fact COMMAND KEY BEFORE AFTER: a key is a row, `pin-ROW`, or a modifier. A command has the name of
# the request that is answered when it is done.
fact() {
    facts+=("$*")
    known+=" $2 "
}

prepare_accept() {
    fact ma a "${value[a1]}" '{"by":"ma"}'
    fact ma ma none unsettled
}
ask_for_accept() {
    ask_accept ma a '{"type":"put","value":{"by":"ma"}}'
}

prepare_news() {
    ask_document b 2
    ask_document c 2
    fact news-b b "${value[b1]}" "${value[b2]}"
    fact news-c c '{"n":1,"c":1}' '{"n":2,"c":1}'
}
ask_for_news() {
    ask news-b GET "/v1/fetch?url=${id[b]}&policy=network-only"
    ask news-c GET "/v1/fetch?url=${id[c]}&policy=network-only"
}

prepare_settle() {
    ask_document d 2
    hold_d '"applied": true'
    fact md d '{"n":1,"d":1}' '{"n":2,"d":1}'
    fact md md unsettled confirmed
}
prepare_refuse() {
    hold_d '"status": 422'
    control "{\"prefix\": \"/$number-d\", \"method\": \"PATCH\", \"status\": 422}"
    fact md d '{"n":1,"d":1}' '{"n":1}'
    fact md md unsettled failed
}
# Has a modifier of d sent, and its answer held by the origin.
hold_d() {
    control "{\"prefix\": \"/$number-d\", \"method\": \"PATCH\", \"times\": 1, \"does\": \"hold\", $1}"
    ask_accept md d '{"type":"merge","value":{"d":1}}' ''
    sends_d=1
}
ask_for_settle() {
    ask release POST "$origin/_release" data '{"as": "answer"}'
    ask md GET "/v1/modifiers/$number-md?wait=45s"
}
ask_for_refuse() {
    ask_for_settle
}

prepare_pin() {
    fact pin-g pin-g none held
}
ask_for_pin() {
    ask pin-g PUT "/v1/pins/${path[g]}"
}
prepare_unpin() {
    fact unpin-h pin-h held none
}
ask_for_unpin() {
    ask unpin-h DELETE "/v1/pins/${path[h]}"
}

prepare_others() {
    fact put-x x 404 "${value[x1]}"
    fact put-y y "${value[y1]}" "${value[y2]}"
    fact me e 404 '{"by":"me"}'
    fact me me none unsettled
    fact pin-f pin-f none held
}
ask_for_others() {
    ask put-x PUT "/v1/entries/${path[x]}" data-binary "@${document[x1]}"
    ask put-y PUT "/v1/entries/${path[y]}?pin=true" data-binary "@${document[y2]}"
    ask_accept me e '{"type":"put","value":{"by":"me"}}'
    ask pin-f PUT "/v1/pins/${path[f]}"
}

# Whether a command's client has heard that it is done.
is_answered() {
    case $1 in
        news-?) grep --quiet --no-messages '"outcome":"network"' "$work/got/$1" ;;
        md) grep --quiet --no-messages '"settled_at":"' "$work/got/$1" ;;
        *) [[ ${code[$1]:-} == 20? ]] ;;
    esac
}

# set_up COMMAND...: makes the rows of a case, and says what is to become of them.
set_up() {
    local row key command known='' sends_d=
    facts=() code=() told=()
    make_documents
    for row in a b c d f g h; do ask_document "$row" 1; done
    for row in a b c d f g h; do ask "fetch-$row" GET "/v1/fetch?url=${id[$row]}"; done
    for row in b h; do ask "pin-$row" PUT "/v1/pins/${path[$row]}"; done
    ask put-y PUT "/v1/entries/${path[y]}?pin=true" data-binary "@${document[y1]}"
    ask_accept mc c '{"type":"merge","value":{"c":1}}'
    for command in "$@"; do "prepare_$command"; done
    answers
    [[ -z $sends_d ]] || await 60 holds 1 \
        || give_up "a modifier is sent" "1 is held" "$(origin_of .)"
    value[c1]='{"n":1,"c":1}'
    for row in a b c d f g h; do
        [[ $known == *" $row "* ]] || fact nothing "$row" "${value[${row}1]}" -
    done
    for key in pin-b pin-h pin-y; do
        [[ $known == *" $key "* ]] || fact nothing "$key" held -
    done
    fact nothing mc unsettled -
}
