#!/usr/bin/env bash
# Objects that several answers hold are kept once: what any answer, client or eviction does to one
# shows in all of them, every watcher of such an answer is told once, and all of it survives
# restarts. The origin's rules are those of `by_type: true`.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

# shellcheck disable=SC2119
start_origin --close
configure <<END
origins:
  local:
    base_url: "$origin"
    allow_private: true
    normalize: {by_type: true}
END
start_daemon

# user NAME: author 7 with this name.
user() { printf '{"type":"User","id":7,"name":"%s"}' "$1"; }
# article N NAME: with its author.
article() { printf '{"type":"Article","id":%s,"title":"t%s","author":%s}' "$1" "$1" "$(user "$2")"; }
# publish PATH JSON
publish() {
    at_origin PUT "$1" --header 'Content-Type: application/json' --data "$2"
}
# ask PATH [PARAMETER...]: a fetch of the network.
ask() {
    local path=$1
    shift
    fetch "$origin$path" --data policy=network-only "$@"
}
# cached PATH [curl's options]: the status and what the cache has.
cached() {
    local path=$1
    shift
    request GET "$(entry "$origin$path")" "$@"
    printf '%s %s' "$status" "$(<"$work/body")"
}
# entity KEY [PARAMETERS]: the same of an entity.
entity() {
    request GET "$(entry "entity:local/$1")?${2-}"
    printf '%s %s' "$status" "$(<"$work/body")"
}
# watch FILE PARAMETER...: a stream into the file, in the background.
watch() {
    local file=$1 options=()
    shift
    while (($# > 0)); do
        options+=(--data-urlencode "$1")
        shift
    done
    curl --silent --unix-socket "$socket" --get --no-buffer \
        --header 'Accept: application/jsonl' "${options[@]}" --output "$file" \
        http://larder/v1/watch &
    watchers+=($!)
    await 60 has "$file" '"type":' || give_up "a watch says where it begins" "a frame" "nothing"
}
watchers=()
has() { grep --quiet "$2" "$1"; }
# How many changes a stream has told.
told() { grep --count --extended-regexp '"type":"(put|delete|evict)"' "$1"; }
has_told() { (($(told "$1") >= $2)); }
run() {
    code=0
    "$bin/cachectl" --socket "$socket" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}
said() { printf '%s|%s' "$code" "$(tr '\n' ' ' <"$work/out")"; }

# -- one author in two articles

publish /articles/1 "$(article 1 Ada)"
publish /articles/2 "$(article 2 Ada)"
publish /articles/3 "$(article 3 Countess)"
ask /articles/1
ask /articles/2
expect_equal "an article is shown as it came, byte for byte" "200 $(article 1 Ada)" \
    "$(cached /articles/1)"
expect_equal "with the origin's own tag" '"v1"' "$(header ETag)"

watch "$work/first" "id=$origin/articles/1"
watch "$work/second" "id=$origin/articles/2"
watch "$work/author" id=entity:local/User:7
ask /articles/3
for number in 1 2; do
    expect_equal "what another answer brings of an author shows in article $number" \
        "200 $(article $number Countess)" "$(cached /articles/$number)"
done
expect_match "the tag is no longer the origin's, as its bytes are not" '^"larder-' "$(header ETag)"
# What was done behind it is told behind it.
request PUT /v1/entries/entity:local/User:7 --data "$(user Lovelace)"
expect_equal "a client sets what it has learned elsewhere" 204 "$status"
for stream in first second author; do
    await 60 has_told "$work/$stream" 2 \
        || not_ok "the watch of the $stream hears of both changes" 2 "$(<"$work/$stream")"
done
for stream in first second; do
    expect_equal "the watcher of the $stream article has one frame for each change" \
        'put [entity:local/User:7] put [entity:local/User:7]' \
        "$(jq --raw-output 'select(.id) | "\(.type) \(.changed | tojson)"' "$work/$stream" | xargs)"
done
expect_equal "the author's own watcher is told by his id" \
    "put entity:local/User:7 put entity:local/User:7" \
    "$(jq --raw-output 'select(.id) | "\(.type) \(.id)"' "$work/author" | xargs)"
expect_equal "the article shows what was set" "200 $(article 1 Lovelace)" "$(cached /articles/1)"
expect_equal "so does the author's own route" "200 $(user Lovelace)" "$(entity User:7)"
expect_equal "an article refers to him by his key" \
    '200 {"type":"Article","id":1,"title":"t1","author":"User:7"}' "$(entity Article:1)"
expect_equal "or shows him" "200 $(article 1 Lovelace)" "$(entity Article:1 expand=1)"
kill "${watchers[@]}"

# -- headers

entity User:7 >"$work/shown"
tag=$(header ETag)
entity User:7 >"$work/shown"
expect_equal "an entity has a tag of its bytes" "same" \
    "$([[ -n $tag && $tag == "$(header ETag)" ]] && echo same)"
request GET /v1/entries/entity:local/User:7 --header "If-None-Match: $tag"
expect_equal "and a client that has them is told so" 304 "$status"

# -- late answers

control "{\"prefix\": \"/articles/2\", \"times\": 1, \"does\": \"hold\", \"body\": $(article 2 Late)}"
ask /articles/2 &
asking=$!
held() { [[ $(origin_of .held) == 1 ]]; }
await 60 held || not_ok "the origin holds the answer" 1 "$(origin_of .held)"
publish /articles/1 "$(article 1 Newest)"
ask /articles/1
release answer
wait "$asking"
expect_equal "an answer that set out before the newest one overwrites nothing" \
    "200 $(user Newest)" "$(entity User:7)"

# -- bytes of the origin

# shellcheck disable=SC2016
odd='{ "type":"User" ,"id":8, "name":"\u0041\/", "n":1.0, "e":1e2, "":null, "$ref":"User:7" }'
list="[ $odd ,
  $odd ]"
control "$(jq --null-input --arg text "$list" \
    '{prefix: "/odd", type: "application/json", text: $text}')"
ask /odd
expect_equal "P-11: numbers, escapes, order and white space come back as they were" \
    "200 $list" "$(cached /odd)"

# -- restarts

before=$(cached /articles/1)
end_daemon TERM
start_daemon
expect_equal "a restart keeps entities and what refers to them" "$before" "$(cached /articles/1)"
end_daemon KILL
start_daemon
expect_equal "so does a crash" "$before" "$(cached /articles/1)"
stop_origin
request PUT /v1/entries/entity:local/User:7 --data "$(user Offline)"
expect_equal "offline, too, every answer shows what was set" "200 $(article 2 Offline)" \
    "$(cached /articles/2)"

# -- cachectl

run get User:7
expect_equal "cachectl takes a key for one where no row has the id" "0|$(user Offline)" \
    "$code|$(<"$work/out")"
printf 'a note' | "$bin/cachectl" --socket "$socket" put User:7
run get User:7
expect_equal "an id comes first" "0|a note" "$code|$(<"$work/out")"
run get --key User:7
expect_equal "--key says that it is one" "0|$(user Offline)" "$code|$(<"$work/out")"
run get --origin local User:7 --json
expect_equal "as JSON it is the frames of a fetch" "0 entity:local/User:7 end" \
    "$code $(jq --raw-output '(.entry | select(.) | .id), select(.type == "end").type' \
        "$work/out" | xargs)"
run get entity:local/User:7
expect_equal "and so does the id" "0|$(user Offline)" "$code|$(<"$work/out")"
run get User:99
expect_match "nothing under id or key is a miss" "^3\|.*nothing is cached under" \
    "$code|$(<"$work/err")"
run inspect --key User:7 --explain
expect_match "inspect --explain says what refers to an entity" \
    "id +entity:local/User:7.*referred to by .*entity:local/Article:1: author" "$(said)"
run inspect "$origin/articles/1" --explain
expect_match "and of an answer what it shows" \
    "stored +normalized.*entity:local/Article:1: type, id, title, author" "$(said)"
run ls --type Article
expect_equal "ls --type lists entities" "Article:1 Article:2 Article:3" \
    "$(cut -f 1 "$work/out" | sed 's|^entity:local/||' | xargs)"
run ls
expect_equal "and ls entries" "/articles/1 /articles/2 /articles/3 /odd User:7" \
    "$(cut -f 1 "$work/out" | sed "s|$origin||" | LC_ALL=C sort | xargs)"
run df
expect_match "df says what they take" "normalized +5 entities .* skeletons .* references" "$(said)"
expect_match "and nothing is less than nothing" '^[^-]*$' "$(sed 's/^-.*//' "$work/out")"

# -- evicted and deleted

run evict --key User:7 --dry-run
expect_equal "a dry run names an entity by its id" "0|entity:local/User:7 " "$(said)"
run evict --key User:7 --yes
expect_equal "the answers that hold an evicted one are misses" 404 \
    "$(request GET "$(entry "$origin/articles/1")" && echo "$status")"
fetch "$origin/articles/1" --data policy=cache-only --data partial=true
expect_equal "or are shown without it, and say so" 'false ["/author"] null' \
    "$(jq --raw-output 'select(.type == "snapshot")
        | "\(.complete) \(.missing | tojson) \(.entry.body.author)"' "$work/body")"
# Forgotten, so that the origin begins anew with other documents.
rm -f "$work/effects"
# shellcheck disable=SC2119
start_origin --close
publish /articles/1 "$(article 1 Back)"
ask /articles/1
expect_equal "another answer brings it back everywhere" "200 $(article 2 Back)" \
    "$(cached /articles/2)"
request DELETE /v1/entries/entity:local/User:7
expect_equal "a deleted one is shown as null, by the rule for its type" \
    '204 200 {"type":"Article","id":2,"title":"t2","author":null}' "$status $(cached /articles/2)"
expect_equal "and is gone" 410 "$(request GET /v1/entries/entity:local/User:7 && echo "$status")"

# -- a dry run foretells what is protected by what shows it

publish /articles/1 "$(article 1 Back)"
ask /articles/1
request PUT "/v1/pins/$(jq --null-input --raw-output --arg id "$origin/articles/1" '$id | @uri')"
run evict --all --dry-run
foretold=$(LC_ALL=C sort "$work/out")
run evict --all --yes
expect_equal "what a pinned answer shows is not foretold, and stays" "$foretold" \
    "$(LC_ALL=C sort "$work/out")"
finish
