#!/usr/bin/env bash
# The configuration is read again while the daemon runs: by SIGHUP and by cachectl reload; what is
# taken, refused, and needs a restart; secrets in files; and writes that a new credential sends.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

start_origin --honour-keys
token=$work/token

# write_configuration [TEXT]: what comes after the origin, whose header is in a file.
write_configuration() {
    configure <<END
origins:
  local:
    base_url: "$origin"
    allow_private: true
    headers: {X-Token: {file: $token}}
$*
END
}

# reload: its JSON in the file `out`, its exit code in `code`.
reload() {
    code=0
    "$bin/cachectl" --socket "$socket" reload --json >"$work/out" 2>"$work/err" || code=$?
}

# said FILTER: a member of the report.
said() {
    jq --compact-output "$1" "$work/out"
}

# logged REGEX: whether a line of the daemon's log matches.
logged() {
    grep -Eq "$1" "$work/larderd.log"
}

# What the last request to the origin had as its type, the one header of an origin that it repeats.
last_type() {
    received .type | tail -n 1
}

printf 'old\n' >"$token"
write_configuration
start_daemon
before=$daemon
fetch "$origin/a"
reload
expect_equal "a reload without a change takes nothing" '0 "taken" [] [] []' \
    "$code $(said .state) $(said .taken) $(said .needs_restart) $(said .refused)"

# -- a new credential, in the same file

store /w/1 '{"n": 0}'
store /w/2 '{"n": 0}'
control '{"prefix": "/w", "method": "PATCH", "times": 1, "status": 401}'
merge w-1 /w/1 '{"n": 1}'
has_state "a refused header has a write wait" w-1 auth_wait
merge w-2 /w/2 '{"n": 1}'
printf 'new\n' >"$token"
reload
expect_equal "the changed file of a header is taken" '0 ["origins.local"]' "$code $(said .taken)"
expect_equal "and sends what waited for it" "confirmed confirmed" "$(fate w-1) $(fate w-2)"

# -- limits, the log level, and what needs a restart

write_configuration 'queue: {max_modifiers: 0}
log: {level: debug, format: json}'
reload
expect_equal "limits and the log level change, the format needs a restart" \
    '0 ["queue.max_modifiers","log.level"] ["log.format"]' \
    "$code $(said .taken) $(said .needs_restart)"
merge w-3 /w/3 '{"n": 1}'
expect_equal "the new limit counts" "507 urn:larder:queue-full" "$status $(member .type)"
expect_equal "status tells it" 0 "$(status_of .queue.max_modifiers)"
reload
expect_equal "what needs a restart is named again" '["log.format"] []' \
    "$(said .needs_restart) $(said .taken)"
if await 60 logged 'configuration needs a restart.*log\.format'; then
    ok "and the log says so"
else
    not_ok "and the log says so" "a line" "$(tail -n 3 "$work/larderd.log")"
fi

# -- all or nothing

write_configuration 'queue: {max_modifiers: 5}
log: {level: loud}'
reload
expect_equal "a mistake refuses all of it" '78 "refused" [] 0' \
    "$code $(said .state) $(said .taken) $(status_of .queue.max_modifiers)"
expect_match "and is named with its place" "larder\.yaml:[0-9]+:[0-9]+: 'loud'" "$(said .refused)"
rm "$token"
write_configuration
reload
expect_match "a missing file of a header refuses it, too" "there is no file $token" \
    "$(said .refused)"
printf 'third\n' >"$token"

# -- SIGHUP

kill -HUP "$daemon"
limit_is() { [[ $(status_of .queue.max_modifiers) == "$1" ]]; }
if await 60 limit_is 100000; then
    ok "SIGHUP reloads"
else
    not_ok "SIGHUP reloads" 100000 "$(status_of .queue.max_modifiers)"
fi
expect_match "and the log says what was taken" 'configuration taken .*queue\.max_modifiers' \
    "$(grep 'configuration taken' "$work/larderd.log" | tail -n 1)"
printf 'log: {level: loud}\n' >>"$config"
kill -HUP "$daemon"
refusals() { (($(grep -c 'configuration refused' "$work/larderd.log") >= 3)); }
if await 60 refusals; then
    ok "SIGHUP with a mistake is refused in the log"
else
    not_ok "SIGHUP with a mistake is refused in the log" "three refusals" \
        "$(tail -n 3 "$work/larderd.log")"
fi
expect_equal "and the daemon goes on" "$before 200" \
    "$daemon $(api --output /dev/null --write-out '%{http_code}' http://larder/v1/health)"

# -- secrets that are no arguments

ctl() {
    code=0
    "$bin/cachectl" --socket "$socket" "$@" >"$work/out" 2>"$work/err" || code=$?
}
printf 'Content-Type: text/by-file\nX-Other: a:b\n' >"$work/fields"
write_configuration
sed -i '/^origins:/,$d' "$config"
ctl reload
expect_equal "an origin that is taken out of the file is gone" '0 []' \
    "$code $(api http://larder/v1/origins | jq --compact-output '[(.items // .)[] | .name]')"
ctl origin add local "$origin" --allow-private --header "@$work/fields"
expect_equal "origin add reads headers from a file" 0 "$code"
fetch "$origin/b"
expect_equal "and they are sent" text/by-file "$(last_type)"
ctl origin add local "$origin" --allow-private --replace --header - <<<'Content-Type: text/by-stdin'
fetch "$origin/c"
expect_equal "and from stdin" "0 text/by-stdin" "$code $(last_type)"
ctl origin add other http://127.0.0.1:1 --header - --proxy - <<<'a'
expect_equal "stdin is read once" 64 "$code"
printf 's3cret\n' >"$work/fields"
ctl origin add other http://127.0.0.1:1 --header "@$work/fields"
expect_equal "a line that is no header is told without it" \
    "1 cachectl: header 1 of $work/fields is not a header such as 'X-Client: larder'" \
    "$code $(head -n 1 "$work/err")"
end_daemon TERM
expect_equal "the daemon ends in order" 0 "$ended"
# refusal [VARIABLE=VALUE]: what larderd says of the configuration, which is to be JSON.
refusal() {
    env "$@" "$bin/larderd" --config "$work/bad.yaml" 2>&1 | jq --raw-output '"\(.level) \(.message)"'
}
echo 'cache: {max_bytes: -3}' >"$work/bad.yaml"
expect_equal "where the environment asks for JSON, a refused configuration is told in it" \
    "error larderd ends" "$(refusal LARDER_LOG_FORMAT=json)"
echo 'log: {format: json}' >>"$work/bad.yaml"
expect_equal "and where the refused file asks for it" "error larderd ends" "$(refusal)"
echo ' - [' >>"$work/bad.yaml"
expect_equal "also where it is no YAML, and the environment asks" \
    "error larderd ends" "$(refusal LARDER_LOG_FORMAT=json)"
rm "$work/bad.yaml"
expect_equal "or is not there" "error larderd ends" "$(refusal LARDER_LOG_FORMAT=json)"
finish
