#!/usr/bin/env bash
# An ordinary user with nothing configured but one origin, which speaks TLS under a root of its
# own: the daemon and cachectl, online and offline. Then root's daemon, to which origins are added
# while it runs.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

iso=/usr/share/iso-codes/json
cp --preserve=timestamps "$iso/iso_4217.json" "$iso/iso_15924.json" "$www"
chmod 0755 "$work"

# -- the origin

# A root of the test's own, and a certificate for localhost and its address.
tls=$work/tls
mkdir "$tls"
key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
{
    openssl req -x509 -days 2 -subj "/CN=larder test root" "${key[@]}" \
        -keyout "$tls/root.key" -out "$tls/root.pem" &&
        openssl req -new -subj "/CN=localhost" "${key[@]}" \
            -keyout "$tls/origin.key" -out "$tls/origin.csr" &&
        openssl x509 -req -days 2 -in "$tls/origin.csr" -CA "$tls/root.pem" \
            -CAkey "$tls/root.key" -extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1") \
            -out "$tls/origin.pem"
} >"$tls/log" 2>&1 || give_up "openssl makes certificates" "two of them" "$(cat "$tls/log")"
chmod 0644 "$tls/root.pem"

configure_nginx <<END
        ssl_protocols TLSv1.3;
        ssl_certificate $tls/origin.pem;
        ssl_certificate_key $tls/origin.key;
        location = /moved.json { return 302 https://127.0.0.1:\$server_port/iso_4217.json; }
        location = /plain.json { return 302 http://localhost:\$server_port/iso_4217.json; }
END
sed -i "s/listen 127.0.0.1:$port;/listen 127.0.0.1:$port ssl http2;/" "$work/nginx/nginx.conf"
origin=https://localhost:$port

nginx_answers() {
    kill -0 "$nginx" && curl --silent --cacert "$tls/root.pem" --output /dev/null "$origin/"
}

# How often the origin was asked.
asked() {
    grep --count 'GET /iso' "$work/nginx/access.log"
}

start_nginx

# -- the ordinary user

# Its programs, as the folder of the build may not be for others to read.
mkdir -p "$work/bin" "$work/home/.config/larder/origins.d" "$work/home/run"
cp "$bin/larderd" "$bin/cachectl" "$work/bin"
chmod -R go+rX "$work/bin"
home=$work/home
cat >"$home/.config/larder/origins.d/local.yaml" <<END
base_url: $origin
allow_private: true
tls: {ca_file: $tls/root.pem}
END

# What runs a command as the user, with nothing of ours in its environment.
user=(env --ignore-environment PATH="$PATH" HOME="$home" XDG_RUNTIME_DIR="$home/run")
if ((EUID == 0)); then
    become=(setpriv --reuid=64021 --regid=64021 --clear-groups)
    if ! "${become[@]}" true 2>/dev/null; then
        skip "an ordinary user's daemon" "nobody else can be had here"
        exit 0
    fi
    chown -R 64021:64021 "$home"
    user=("${become[@]}" "${user[@]}")
fi
own_socket=$home/run/larder/api.sock

start_own_daemon() {
    "${user[@]}" "$work/bin/larderd" 2>>"$work/larderd.log" &
    daemon=$!
    await 60 "${user[@]}" curl --silent --fail --output /dev/null --unix-socket "$own_socket" \
        http://larder/v1/health ||
        give_up "an ordinary user's daemon starts" "it is ready" "$(tail -n 5 "$work/larderd.log")"
}

# cachectl as the user: its exit status in `code`, what it said in the files `out` and `err`.
ctl() {
    code=0
    "${user[@]}" "$work/bin/cachectl" "$@" >"$work/out" 2>"$work/err" || code=$?
}

start_own_daemon
currencies=$origin/iso_4217.json
ctl get "$currencies"
expect_equal "a get of the configured origin succeeds" 0 "$code"
expect_same_file "it has the origin's bytes" "$iso/iso_4217.json" "$work/out"
ctl origin list
expect_equal "the list has the origin, its state and its file" \
    "local $origin/ online $home/.config/larder/origins.d/local.yaml" \
    "$(cut --fields=1-3,5 --output-delimiter=' ' "$work/out")"
ctl origin check local --path /iso_15924.json --json
expect_equal "a check succeeds" 0 "$code"
expect_equal "a check says what the connection is like" \
    "200 127.0.0.1:$port HTTP/1.1 TLS 1.3" \
    "$(jq --raw-output '"\(.status) \(.peer) \(.protocol) \(.tls)"' "$work/out")"
expect_match "the log of the origin has the requests" 'GET /iso[^ ]* HTTP/1\.1' \
    "$(cat "$work/nginx/access.log")"
expect_equal "the daemon takes HTTP/1.1 where the origin offers HTTP/2" 0 \
    "$(grep --count 'GET /iso.* HTTP/2' "$work/nginx/access.log")"

# Offline by hand

ctl origin offline local
expect_equal "the user may set an origin offline" 0 "$code"
before=$(asked)
ctl get "$currencies"
expect_equal "set offline, what is cached is shown" 0 "$code"
expect_same_file "and is the whole of it" "$iso/iso_4217.json" "$work/out"
expect_match "and is said to be cached" "from the cache" "$(cat "$work/err")"
ctl get "$origin/iso_15924.json"
expect_equal "set offline, a miss is nothing to show" 75 "$code"
expect_match "and the hint says how to go online" "cachectl origin online local" \
    "$(cat "$work/err")"
ctl origin check local
expect_equal "set offline, a check is refused" 75 "$code"
expect_equal "set offline, nothing left" "$before" "$(asked)"
end_daemon TERM
start_own_daemon
ctl origin list
expect_equal "it is offline over the daemon's end" "offline-by-hand" \
    "$(cut --fields=3 "$work/out")"
ctl origin online local
ctl get "$origin/iso_15924.json"
expect_equal "set online, requests leave again" 0 "$code"
expect_same_file "and bring the origin's bytes" "$iso/iso_15924.json" "$work/out"

# Without the network

stop_nginx
ctl get "$currencies"
expect_equal "without the network a get succeeds" 0 "$code"
expect_same_file "and has the cached bytes" "$iso/iso_4217.json" "$work/out"
ctl origin list
expect_equal "the origin is offline" offline "$(cut --fields=3 "$work/out")"
ctl origin check local
expect_equal "a check says that it does not answer" 75 "$code"
start_nginx
ctl get "$currencies"
expect_equal "with the network back a get succeeds" 0 "$code"
# The network may answer after the time that a get waits for it.
is_online() {
    ctl origin list
    [[ $(cut --fields=3 "$work/out") == online ]]
}
await 60 is_online || true
expect_equal "the origin is online again" online "$(cut --fields=3 "$work/out")"

# Rules for entities

ctl origin add books http://127.0.0.1:1/books --by-type
expect_equal "an origin is added whose objects say their type" 0 "$code"
printf 'types:\n  - {type: Book, key: [isbn], lists: {/tags: append}}\n' >"$work/rules.yaml"
chmod a+r "$work/rules.yaml"
ctl origin add shop http://127.0.0.1:1/shop --normalize "$work/rules.yaml"
expect_equal "one with a file of rules is added" 0 "$code"
printf 'types:\n  - {type: Book, kye: [isbn]}\n' >"$work/rules.yaml"
ctl origin add other http://127.0.0.1:1/other --normalize "$work/rules.yaml"
expect_equal "a file that is wrong is refused" 1 "$code"
expect_match "with line, column and what was meant" \
    "rules.yaml:2:18: .*'normalize.types\[0\].kye' \(did you mean 'key'\?\)" "$(cat "$work/err")"
end_daemon TERM
start_own_daemon
ctl origin list --json
expect_equal "over the daemon's end they are as they were" \
    '["__typename","type","@type"] ["isbn"] append null' \
    "$(jq --slurp --raw-output 'map({(.name): .settings.normalize}) | add
        | [(.books.by_type.type, .shop.types[0].key | tojson), .shop.types[0].lists["/tags"],
            (.local | tojson)] | join(" ")' "$work/out")"
for name in books shop; do ctl origin rm "$name"; done

# What is not configured

ctl get http://127.0.0.1:1/x
expect_match "a URL of no origin is refused with the command that adds one" \
    "cachectl origin add 127.0.0.1-1 http://127.0.0.1:1" "$(cat "$work/err")"
ctl origin rm local
expect_equal "an origin of a file is not taken away" 1 "$code"
expect_match "and the refusal names the file" "origins.d/local.yaml" "$(cat "$work/err")"

# type_for COMMAND…: the problem of a fetch of a public URL.
type_for() {
    "$@" curl --silent --get --unix-socket "$own_socket" \
        --data-urlencode url=https://larder.invalid/x http://larder/v1/fetch |
        jq --raw-output .type
}
expect_equal "the daemon's user may ask any public https URL" urn:larder:unreachable \
    "$(type_for "${user[@]}")"
if ((EUID == 0)); then
    expect_equal "nobody else may" urn:larder:unknown-origin "$(type_for env)"
fi
ctl origin list
expect_equal "it counts as an origin of the host's name" "larder.invalid implicit" \
    "$(grep larder.invalid "$work/out" | cut --fields=1,5 --output-delimiter=' ')"
end_daemon TERM
expect_equal "the daemon ends in peace" 0 "$ended"

# A broken file beside the configuration is told; one in the state directory is left out.
printf 'base_ur: %s\n' "$origin" >"$home/.config/larder/origins.d/bad.yaml"
code=0
"${user[@]}" "$work/bin/larderd" --check-config 2>"$work/err" || code=$?
expect_equal "a broken file of an origin is a bad configuration" 78 "$code"
expect_match "and is told with line and column" \
    "origins.d/bad.yaml:1:1: there is no key 'origins.bad.base_ur' \(did you mean 'base_url'\?\)" \
    "$(cat "$work/err")"
rm "$home/.config/larder/origins.d/bad.yaml"
mkdir -p "$home/.local/state/larder/origins.d"
printf 'base_ur: %s\n' "$origin" >"$home/.local/state/larder/origins.d/bad.yaml"
chmod -R go+rX "$home/.local"
start_own_daemon
ctl status
expect_equal "one that the daemon keeps does not stop it" 1 "$code"
expect_match "and is warned of" "an origin is left out: .*bad.yaml:1:1" "$(cat "$work/out")"
end_daemon TERM

# -- root's daemon

if ((EUID != 0)); then
    skip "origins that are added to root's daemon" "this is not root"
    finish
fi
mode=0666 configure </dev/null
start_daemon

# cachectl as root.
root_ctl() {
    code=0
    "$bin/cachectl" --socket "$socket" "$@" >"$work/out" 2>"$work/err" || code=$?
}

fetch "$currencies"
expect_equal "nothing is known of the origin" "403 urn:larder:unknown-origin" "$(outline)"
hint=$(member .hint)
expect_equal "the hint is the command that adds it" \
    "Add it with: cachectl origin add localhost-$port $origin" "$hint"
# Word by word as it says; the root of trust is the test's own.
read -r -a command <<<"${hint#*: cachectl }"
root_ctl "${command[@]}" --ca-file "$tls/root.pem"
expect_equal "an administrator adds it" 0 "$code"
fetch "$currencies"
expect_equal "it is there at once, on loopback too" "snapshot network;end network" "$(outline)"
root_ctl "${command[@]}"
expect_equal "it cannot be added twice" 1 "$code"
kept=$work/state/origins.d/localhost-$port.yaml
expect_equal "a file that only the daemon reads keeps it" "600" "$(stat --format=%a "$kept")"
end_daemon TERM
start_daemon
fetch "$currencies"
expect_equal "it is there when the daemon is started anew" \
    "snapshot cache stale;unchanged 304;end unchanged" "$(outline)"
fetch "$origin/moved.json"
expect_equal "a redirect over TLS to a host that is not listed is refused" \
    "502 urn:larder:redirect-refused" "$(outline)"
expect_match "the refusal names the host and what would list it" "127.0.0.1:$port.*redirect_hosts" \
    "$(member .detail) $(member .hint)"
root_ctl "${command[@]}" --replace --ca-file "$tls/root.pem" --redirect-host "127.0.0.1:$port"
expect_equal "an administrator lists the host" 0 "$code"
fetch "$origin/moved.json"
expect_equal "a redirect to a listed host is followed" "snapshot network;end network" "$(outline)"
fetch "$origin/plain.json"
expect_equal "one from https to http is not" "502 urn:larder:redirect-refused" "$(outline)"
root_ctl origin list --json
expect_equal "the list says that it was added" "api true" \
    "$(jq --raw-output '"\(.source) \(.settings.allow_private)"' "$work/out")"
expect_equal "nobody else may change origins" "403 urn:larder:not-permitted" \
    "$("${become[@]}" curl --silent --unix-socket "$socket" \
        --request DELETE "http://larder/v1/origins/localhost-$port" |
        jq --raw-output '"\(.status) \(.type)"')"
root_ctl origin rm "localhost-$port"
expect_equal "it is taken away" 0 "$code"
expect_equal "and its file with it" no "$([[ -e $kept ]] && echo yes || echo no)"
fetch "$currencies"
expect_equal "nothing is asked of it any more" "403 urn:larder:unknown-origin" "$(outline)"
request GET "$(entry "$currencies")"
expect_equal "what is cached of it stays" 200 "$status"
root_ctl origin rm "localhost-$port"
expect_equal "it cannot be taken away twice" 3 "$code"
finish
