# What the scripts in this folder share: a temporary folder, checks, the daemon, and as an origin
# nginx or one that is told what to do. Source it; it changes to the top of the tree.
# shellcheck shell=bash

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

bin=${LARDER_BIN:-.build/debug}
work=$(mktemp -d)
config=$work/larder.yaml
socket=$work/run/api.sock
www=$work/www
# The pids of what runs; 0 when nothing does.
daemon=0
nginx=0
test_origin=0
failures=0
mkdir -p "$work/run" "$www" "$work/nginx"
trap clean_up EXIT
trap 'exit 1' INT TERM

clean_up() {
    local pid
    # A subshell that is ended before it has reset the traps would run this, too.
    [[ $BASHPID == "$$" ]] || return
    # No word of the shell on what is killed.
    exec 2>/dev/null
    # Killed outright, nginx would leave its worker behind.
    ((nginx == 0)) || stop_nginx
    for pid in "$daemon" $(jobs -p); do
        ((pid == 0)) || kill -KILL "$pid"
    done
    wait
    rm -rf "$work"
}

# -- checks

ok() {
    printf 'ok %s\n' "$1"
}

# What was expected, and what was there instead.
not_ok() {
    printf 'not ok %s\n' "$1"
    printf '  expected: %s\n  got:      %s\n' "$2" "$3" >&2
    failures=$((failures + 1))
}

skip() {
    printf 'ok %s # skipped: %s\n' "$1" "$2"
}

expect_equal() {
    if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "$2" "$3"; fi
}

# The second argument is an extended regular expression.
expect_match() {
    if [[ $3 =~ $2 ]]; then ok "$1"; else not_ok "$1" "a match of $2" "$3"; fi
}

expect_at_most() {
    if (($3 <= $2)); then ok "$1"; else not_ok "$1" "at most $2" "$3"; fi
}

expect_same_file() {
    if cmp -s "$2" "$3"; then
        ok "$1"
    else
        not_ok "$1" "the $(stat -c %s "$2") bytes of $2" \
            "$(stat -c %s "$3" 2>/dev/null || echo no) bytes, $(cmp "$2" "$3" 2>&1)"
    fi
}

# Ends the script: 1 if a check failed, with what the daemon said.
finish() {
    if ((failures > 0)) && [[ -s $work/larderd.log ]]; then
        printf -- '-- the last lines of the daemon:\n' >&2
        tail -n 30 "$work/larderd.log" >&2
    fi
    exit "$((failures > 0))"
}

# Without what follows, the rest of a script says nothing.
give_up() {
    not_ok "$@"
    finish
}

# Tries a command again and again until it succeeds, for so many seconds at most.
await() {
    local end=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        ((SECONDS < end)) || return 1
        sleep 0.02
    done
}

# -- the daemon

# Writes the configuration: the sockets and the folders, and what stands on stdin.
configure() {
    {
        printf 'sockets: {api: %s, mode: "%s"}\n' "$socket" "${mode:-0600}"
        printf 'storage: {cache_directory: %s, state_directory: %s}\n' "$work/cache" "$work/state"
        cat
    } >"$config"
}

is_ready() {
    kill -0 "$daemon" && [[ $(api --output /dev/null --write-out '%{http_code}' \
        http://larder/v1/health) == 200 ]]
}

start_daemon() {
    "$bin/larderd" --config "$config" 2>>"$work/larderd.log" &
    daemon=$!
    await 60 is_ready || give_up "the daemon starts" "it is ready within 60 s" \
        "$(tail -n 5 "$work/larderd.log")"
}

# Sends a signal and waits for the end; the exit status is in `ended`.
end_daemon() {
    kill -s "$1" "$daemon"
    ended=0
    # shellcheck disable=SC2034
    wait "$daemon" 2>/dev/null || ended=$?
    daemon=0
}

# curl on the socket; the arguments are curl's.
api() {
    curl --silent --show-error --max-time 50 --unix-socket "$socket" "$@"
}

# request METHOD PATH [curl's options]: the status in `status`, the answer in the files `head`
# and `body` of the temporary folder.
request() {
    local method=$1 path=$2
    shift 2
    [[ $method != HEAD ]] || set -- --head "$@"
    rm -f "$work/head" "$work/body"
    status=$(api --request "$method" --dump-header "$work/head" --output "$work/body" \
        --write-out '%{http_code}' "$@" "http://larder$path")
}

# fetch URL [curl's options]: as `request`; parameters are given with --data-urlencode.
fetch() {
    local url=$1
    shift
    request GET /v1/fetch --get --data-urlencode "url=$url" "$@"
}

# fetch_with JSON: the same by POST.
fetch_with() {
    request POST /v1/fetch --header 'Content-Type: application/json' --data "$1"
}

# The frames of the last fetch, or its problem, in a few words.
outline() {
    if ((status != 200)); then
        printf '%s %s' "$status" "$(member .type)"
        return
    fi
    jq --raw-output 'select(.type != "heartbeat") |
        if .type == "snapshot" then "snapshot \(.source)\(if .stale then " stale" else "" end)"
        elif .type == "problem" then "problem \(.problem.type | ltrimstr("urn:larder:"))"
        elif .type == "end" then "end \(.outcome)"
        else "\(.type) \(.status)" end' "$work/body" | paste --serial --delimiters ';'
}

# A member of the last answer, by a filter of jq.
member() {
    jq --raw-output "$1" "$work/body" 2>&1
}

# A header of the last answer.
header() {
    sed -n "s/^$1: *\(.*\)\r\$/\1/Ip" "$work/head"
}

# The path of an entry.
entry() {
    printf '/v1/entries/%s' "$(jq --raw-output --null-input --arg id "$1" '$id | @uri')"
}

# A member of the status, by a filter of jq.
status_of() {
    api http://larder/v1/status | jq --raw-output "$1"
}

# -- nginx

# A port below those that the kernel gives to connections (32768 and up): an origin that is down for
# a while finds its port free when it comes back, whatever other scripts do meanwhile.
free_port() {
    perl -MIO::Socket::INET -e '
        for (1 .. 1000) {
            my $port = 12000 + int rand 20000;
            IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => $port) or next;
            print $port;
            exit;
        }
        die "no port is free\n";'
}

# Sets `port` and `origin`, and writes a configuration that serves the folder `www`; stdin adds to
# its server.
configure_nginx() {
    port=$(free_port)
    origin=http://127.0.0.1:$port
    {
        ((EUID != 0)) || printf 'user root;\n'
        cat <<END
daemon off;
worker_processes 1;
pid $work/nginx/pid;
error_log $work/nginx/error.log;
events {}
http {
    client_body_temp_path $work/nginx/client;
    proxy_temp_path $work/nginx/proxy;
    fastcgi_temp_path $work/nginx/fastcgi;
    uwsgi_temp_path $work/nginx/uwsgi;
    scgi_temp_path $work/nginx/scgi;
    types { application/json json; text/plain txt; text/html html; }
    default_type application/octet-stream;
    access_log $work/nginx/access.log;
    server {
        listen 127.0.0.1:$port;
        root $www;
        location = /_logged { access_log off; return 204; }
END
        cat
        printf '    }\n}\n'
    } >"$work/nginx/nginx.conf"
}

# Returns once the log has every request that nginx has answered before: its one process writes the
# line of a request after the answer, and before it takes the next request.
nginx_has_logged() {
    curl --silent --output /dev/null "$origin/_logged"
}

nginx_answers() {
    kill -0 "$nginx" && curl --silent --output /dev/null "$origin/"
}

start_nginx() {
    command -v nginx >/dev/null || PATH=$PATH:/usr/sbin
    nginx -p "$work/nginx" -e "$work/nginx/error.log" -c "$work/nginx/nginx.conf" &
    nginx=$!
    await 60 nginx_answers || give_up "nginx starts" "it answers within 60 s" \
        "$(tail -n 5 "$work/nginx/error.log")"
}

stop_nginx() {
    kill -TERM "$nginx"
    wait "$nginx" 2>/dev/null
    nginx=0
}

# -- an origin that is told what to do: larder-test-origin, whose --help says what there is

# start_origin [OPTION...]: sets `port` and `origin`. Started again it has the same port, and what
# the log of its effects says was done. A script that has it hold requests gives --close.
start_origin() {
    rm -f "$work/origin.port"
    "$bin/larder-test-origin" --port "${port:-$(free_port)}" --log "$work/effects" "$@" \
        >"$work/origin.port" 2>>"$work/origin.log" &
    test_origin=$!
    await 60 test -s "$work/origin.port" || give_up "the origin starts" "it listens within 60 s" \
        "$(tail -n 5 "$work/origin.log")"
    port=$(<"$work/origin.port")
    origin=http://127.0.0.1:$port
}

stop_origin() {
    kill -TERM "$test_origin"
    wait "$test_origin" 2>/dev/null
    test_origin=0
}

# at_origin METHOD PATH [curl's options]: past the daemon, as another device.
at_origin() {
    local method=$1 path=$2
    shift 2
    curl --silent --show-error --max-time 50 --request "$method" "$@" "$origin$path"
}

# control JSON: how the origin treats requests from now on.
control() {
    local said
    said=$(at_origin POST /_control --data "$1" --write-out '%{http_code}')
    [[ $said == 204 ]] || give_up "the origin takes the command $1" 204 "$said"
}

# release answer|close: what becomes of the requests that the origin holds.
release() {
    at_origin POST /_release --data "{\"as\": \"$1\"}"
}

# A member of what the origin says of itself, by a filter of jq.
origin_of() {
    at_origin GET /_control | jq --raw-output "$1"
}

# effects FILTER [jq's options]: of each write that the origin applied, in order.
effects() {
    jq --raw-output "$@" "$work/effects"
}

# received FILTER [jq's options]: of each request that reached the origin, in order.
received() {
    at_origin GET /_received | jq --raw-output "$@"
}
