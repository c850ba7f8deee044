#!/usr/bin/env bash
# The Debian packages: built from the programs of the build, checked by lintian and man, installed into
# a folder with their maintainer scripts, removed and purged.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

for program in dh dpkg-buildpackage fakeroot man swift; do
    if ! command -v "$program" >/dev/null; then
        skip "the Debian packages" "there is no $program"
        finish
    fi
done
if ! dpkg-checkbuilddeps packaging/debian/control >"$work/missing" 2>&1; then
    skip "the Debian packages" "$(cat "$work/missing")"
    finish
fi
packages=$work/packages
scripts/package --programs "$bin" --output "$packages" >"$work/said" 2>&1 \
    || give_up "the packages are built" "exit status 0" "$(tail -n 30 "$work/said")"
ok "the packages are built (S1)"
larder=$(echo "$packages"/larder_*.deb)
python=$(echo "$packages"/python3-larder_*_all.deb)
expect_equal "with the record of the build" 1 "$(find "$packages" -name 'larder_*.buildinfo' | wc -l)"
expect_match "a debug build is named as one" "for tests only" "$(cat "$work/said")"

# lintian takes as long as the build: it runs meanwhile.
if command -v lintian >/dev/null; then
    # Only debug programs name the folder of Swift's libraries.
    lintian --fail-on=error,warning --suppress-tags custom-library-search-path \
        "$packages"/*.changes >"$work/lintian" 2>&1 &
    lintian=$!
fi

# -- what is in them

mkdir "$work/files" "$work/python"
dpkg-deb --extract "$larder" "$work/files"
dpkg-deb --extract "$python" "$work/python"

# Two builds differ in the compiler's hashes and in the build id alone.
installed=$work/files/usr/bin/larderd
other=$work/other-build
cp "$installed" "$other"
python3 - "$other" <<'END'
import re, subprocess, sys

headers = subprocess.run(
    ["readelf", "--section-headers", "--wide", sys.argv[1]], check=True, capture_output=True, text=True).stdout
with open(sys.argv[1], "r+b") as program:
    for name in (".swift_modhash", ".note.gnu.build-id"):
        found = re.search(re.escape(name) + r" +\S+ +[0-9a-f]+ +([0-9a-f]+) +([0-9a-f]+)", headers)
        offset, size = (int(number, 16) for number in found.groups())
        program.seek(offset + size - 1)
        last = program.read(1)[0]
        program.seek(offset + size - 1)
        program.write(bytes([last ^ 0xFF]))
END
expect_equal "the program of another build is another" different \
    "$(cmp --silent "$installed" "$other" && echo equal || echo different)"
packaging/normalize "$other"
expect_equal "and in the package the same, byte for byte (S9)" "$(sha256sum <"$installed")" \
    "$(sha256sum <"$other")"
expect_equal "which still starts" "$("$bin/larderd" --version)" "$("$other" --version)"
expect_equal "programs, units, groups, configuration and completions, and no other file (S1)" \
    "drwx------ ./etc/larder/credentials.d/
-rw-r----- ./etc/larder/larder.yaml
drwxr-x--- ./etc/larder/origins.d/
-rw-r--r-- ./lib/systemd/system/larder.service
-rw-r--r-- ./lib/systemd/system/larder.service.d/credentials.conf
-rw-r--r-- ./lib/systemd/system/larder.socket
-rwxr-xr-x ./usr/bin/cachectl
-rwxr-xr-x ./usr/bin/larderd
-rw-r--r-- ./usr/lib/systemd/user/larder.service
-rw-r--r-- ./usr/lib/systemd/user/larder.socket
-rw-r--r-- ./usr/lib/sysusers.d/larder.conf
-rw-r--r-- ./usr/share/bash-completion/completions/cachectl
-rw-r--r-- ./usr/share/fish/vendor_completions.d/cachectl.fish
-rw-r--r-- ./usr/share/lintian/overrides/larder
-rw-r--r-- ./usr/share/zsh/vendor-completions/_cachectl" \
    "$(dpkg-deb --contents "$larder" | awk '$6 !~ "^./usr/share/(man|doc|larder)/" &&
        ($1 ~ "^-" || $6 ~ "^./etc/larder/.") { print $1, $6 }' | LC_ALL=C sort -k 2)"
for file in larder/node/index.js larder/node/wire.js larder/openapi.json doc/larder/README.md \
    doc/larder/changelog.gz doc/larder/copyright doc/larder/docs/guarantees.md; do
    expect_equal "there is $file" "-rw-r--r-- root/root" \
        "$(dpkg-deb --contents "$larder" | awk -v file="./usr/share/$file" '$6 == file { print $1, $2 }')"
done
expect_equal "the configuration is a file that dpkg keeps" /etc/larder/larder.yaml \
    "$(dpkg-deb --info "$larder" conffiles)"
for unit in lib/systemd/system usr/lib/systemd/user; do
    expect_equal "the unit in $unit starts the installed program" "ExecStart=/usr/bin/larderd" \
        "$(grep '^ExecStart=' "$work/files/$unit/larder.service")"
done
expect_equal "the system's with the installed configuration" \
    "Environment=LARDER_CONFIG=/etc/larder/larder.yaml" \
    "$(grep '^Environment=LARDER' "$work/files/lib/systemd/system/larder.service")"
for library in ca-certificates libbrotli1 libc6 libmd0 libsqlite3-0 libxxhash0 libyaml-0-2 libzstd1 zlib1g; do
    expect_match "it depends on $library" "(^|, )$library( |,|$)" "$(dpkg-deb --field "$larder" Depends)"
done
control() { dpkg-deb --ctrl-tarfile "$larder" | tar --extract --to-stdout "./$1" 2>/dev/null; }
expect_equal "the units of a user's own daemon are enabled where a user has done so only" 2 \
    "$(control postinst | grep -c "if deb-systemd-helper --user debian-installed 'larder")"
expect_equal "units are stopped by a removal only, so that the socket stays open in an upgrade (S5)" "2 2" \
    "$(for words in 'invoke stop' '= remove.*systemd/system'; do
        { control preinst; control prerm; } | grep -c "$words"; done | paste --serial --delimiters ' ')"

# -- man pages, completions, the list of what is linked in

mapfile -t pages < <(find "$work/files/usr/share/man" -name '*.gz' | LC_ALL=C sort)
commands=$(python3 -c '
import json, sys
def names(command, *words):
    yield "-".join([*words, command["commandName"]])
    for one in command.get("subcommands", []):
        if one["commandName"] != "help":
            yield from names(one, *words, command["commandName"])
print("\n".join(names(json.load(sys.stdin)["command"])))' < <("$bin/cachectl" --experimental-dump-help))
expect_equal "each command has a page (S2)" "$(LC_ALL=C sort <<<"$commands")" \
    "$(for page in "${pages[@]}"; do [[ $page != *.1.gz ]] || basename "$page" .1.gz; done | LC_ALL=C sort)"
expect_equal "the daemon, its configuration and the API too (S2)" \
    "larder.yaml.5.gz larder-api.7.gz larderd.8.gz" \
    "$(cd "$work/files/usr/share/man" && basename --multiple man[578]/* | paste --serial --delimiters ' ')"
expect_equal "man finds nothing wrong with them (S2)" "" \
    "$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "${pages[@]}" 2>&1 >/dev/null)"
page() { LC_ALL=C.UTF-8 MANWIDTH=100 MAN_KEEP_FORMATTING='' man -l "$work/files/usr/share/man/$1" | col -bx; }
expect_match "a page has the options" "--settled" "$(page man1/cachectl-queue-list.1.gz)"
expect_match "the page of the configuration has its keys and their defaults" \
    "cache.max_bytes[[:space:]]+Default: 512MiB" "$(page man5/larder.yaml.5.gz)"
expect_match "the page of the API has the routes" "GET /v1/status" "$(page man7/larder-api.7.gz)"
expect_match "and the types of problems" "unknown-origin" "$(page man7/larder-api.7.gz)"
expect_match "bash has completions of cachectl" "complete .* cachectl" \
    "$(bash -c 'source "$1" && complete -p cachectl' bash \
        "$work/files/usr/share/bash-completion/completions/cachectl" 2>&1)"
sbom=$work/files/usr/share/doc/larder/sbom.cdx.json
expect_equal "the list of what is linked in is CycloneDX, sorted and without times (S10)" "CycloneDX 1.5 true null" \
    "$(jq --raw-output '[.components[]."bom-ref"] as $all
        | "\(.bomFormat) \(.specVersion) \($all == ($all | sort)) \(.metadata.timestamp)"' "$sbom")"
for part in pkg:swift/github.com/apple/swift-nio@ pkg:github/google/boringssl@ pkg:github/madler/zlib@ \
    pkg:github/swiftlang/swift@swift-; do
    expect_match "with $part" "${part}[0-9a-f]" "$(jq --raw-output '.components[].purl' "$sbom")"
done
expect_equal "each part that has a package has its license" "" \
    "$(jq --raw-output '.components[] | select(.purl | startswith("pkg:swift/")) | .name' "$sbom" \
        | while read -r name; do
            [[ -s $work/files/usr/share/doc/larder/licenses/$name.txt ]] || echo "$name"
        done)"

# -- installed into a folder, with the maintainer scripts

root=$work/root
mkdir -p "$root"/{etc,run,tmp,var/lib/dpkg/{info,updates,triggers},var/log,var/backups}
touch "$root/var/lib/dpkg/status"
printf 'root:x:0:\n' >"$root/etc/group"
printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
PATH=$PATH:/usr/sbin:/sbin
# With the database of fakeroot over all calls, so that what is owned by root stays so.
dpkg_root() {
    local faked=(fakeroot -s "$work/faked")
    [[ ! -e $work/faked ]] || faked+=(-i "$work/faked")
    "${faked[@]}" -- dpkg --root="$root" --force-depends --force-script-chrootless --force-not-root \
        "$@" >>"$work/dpkg" 2>&1
}
dpkg_root --install "$larder" \
    || give_up "dpkg installs the package" "exit status 0" "$(tail -n 20 "$work/dpkg")"
ok "dpkg installs the package without a question (S4)"
expect_equal "the groups are made (S4)" "larder-admin larder-clients larder-config" \
    "$(sed -n 's/^\(larder-[a-z]*\):.*/\1/p' "$root/etc/group" | LC_ALL=C sort | paste --serial --delimiters ' ')"
expect_equal "the system's socket and service are enabled" "larder.service larder.socket" \
    "$(find "$root/etc/systemd/system" -name 'larder.*' -printf '%f\n' | LC_ALL=C sort | paste --serial --delimiters ' ')"
expect_equal "the service may read its configuration" \
    "640 $(sed -n 's/^larder-config:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group")" \
    "$(fakeroot -i "$work/faked" -- stat --format='%a %g' "$root/etc/larder/larder.yaml")"

# A daemon on the folders of the package, whose origin is down.
{
    printf 'sockets: {api: %s}\n' "$socket"
    printf 'storage: {cache_directory: %s, state_directory: %s}\n' \
        "$root/var/cache/larder" "$root/var/lib/larder"
    printf 'origins: {down: {base_url: "http://127.0.0.1:1/", allow_private: true}}\n'
} >"$config"
mkdir -p "$root/var/cache" "$root/var/lib"
write() {
    api --header 'Content-Type: application/json' --data "{\"id\": \"$1\", \"changes\":
        [{\"target\": {\"id\": \"http://127.0.0.1:1/$1\"}, \"effect\": {\"type\": \"put\", \"value\": {\"text\": \"$1\"}}}]}" \
        --output /dev/null --write-out '%{http_code}' http://larder/v1/modifiers
}
bin=$root/usr/bin start_daemon
# Otherwise an attempt may be under way at any moment.
LARDER_SOCKET=$socket "$root/usr/bin/cachectl" origin offline down >/dev/null
expect_equal "the installed daemon takes a write" 202 "$(write kept)"
if [[ -x /usr/bin/python3 ]]; then
    expect_equal "the installed Python client reads it" '{"text":"kept"}' \
        "$(PYTHONPATH=$work/python/usr/lib/python3/dist-packages LARDER_SOCKET=$socket /usr/bin/python3 -c '
import larder, sys
sys.stdout.write(larder.Client().get("http://127.0.0.1:1/kept").content.decode())' 2>&1)"
fi
# offered LINE: what bash offers at the end of the line, with its words split as readline splits them.
# shellcheck disable=SC2016
offered() {
    timeout 60 bash -c '
        source "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        mapfile -t COMP_WORDS < <(perl -e "$3" "$2")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _cachectl_whole_words "$4" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"' bash \
        "$work/files/usr/share/bash-completion/completions/cachectl" "$1" \
        'print "$_\n" for $ARGV[0] =~ /[^\s:]+|:|(?<=\s)$/g' "$root/usr/bin/cachectl" 2>&1
}
ctl="$root/usr/bin/cachectl --socket $socket"
expect_equal "bash completes a command (S3)" queue "$(offered "$ctl que")"
# On a busy machine an answer may take longer than the time after which there is no word.
offers() { [[ $(offered "$1") == "$2" ]]; }
expect_offer() {
    if await 60 offers "$2" "$3"; then ok "$1"; else not_ok "$1" "$3" "$(offered "$2")"; fi
}
expect_offer "the name of an origin" "$ctl origin rm d" down
expect_offer "the id of a write" "$ctl queue show " kept
expect_offer "an id with a colon, of which bash keeps the part before the last one (S3)" \
    "$ctl get http://127.0.0.1:1/k" 1/kept
expect_equal "and no id that does not begin with it" "" "$(offered "$ctl get http://127.0.0.1:1/x")"
kill -STOP "$daemon"
expect_equal "of a daemon that hangs it offers nothing (S3)" "" "$(offered "$ctl origin rm d")"
kill -CONT "$daemon"
end_daemon TERM
expect_equal "and nothing without a daemon" "" "$(offered "$ctl origin rm d")"

# -- an upgrade, a removal, a purge

# The next version has another default, in the file that the administrator has changed too.
printf '# changed here\n' >>"$root/etc/larder/larder.yaml"
dpkg-deb --raw-extract "$larder" "$work/next"
sed -i 's/^Version: .*/Version: 99.0-1/' "$work/next/DEBIAN/control"
printf '# the next default\n' >>"$work/next/etc/larder/larder.yaml"
fakeroot dpkg-deb -Znone --build "$work/next" "$work/next.deb" >/dev/null
dpkg_root --force-confold --install "$work/next.deb" \
    || not_ok "dpkg upgrades the package" "exit status 0" "$(tail -n 20 "$work/dpkg")"
expect_equal "an upgrade keeps a configuration that was changed (S5)" "99.0-1 # changed here" \
    "$(dpkg-query --admindir="$root/var/lib/dpkg" --show --showformat='${Version}' larder) $(tail -n 1 "$root/etc/larder/larder.yaml")"
bin=$root/usr/bin start_daemon
expect_equal "and the queue (S5)" "kept queued" \
    "$(LARDER_SOCKET=$socket "$root/usr/bin/cachectl" queue list --json | jq --raw-output '"\(.id) \(.state)"')"
end_daemon TERM

# As DynamicUser= has them: links to folders below private/.
for folder in lib cache; do
    mkdir -m 0700 "$root/var/$folder/private"
    mv "$root/var/$folder/larder" "$root/var/$folder/private"
    ln -s private/larder "$root/var/$folder/larder"
done
dpkg_root --remove larder || not_ok "dpkg removes the package" "exit status 0" "$(tail -n 20 "$work/dpkg")"
expect_equal "a removal takes the programs" no "$([[ -e $root/usr/bin/larderd ]] && echo yes || echo no)"
expect_equal "it keeps configuration, state and cache (S6)" "yes yes yes" \
    "$(for file in etc/larder/larder.yaml var/lib/larder/state.db var/cache/larder/cache.db; do
        [[ -e $root/$file ]] && echo yes || echo no; done | paste --serial --delimiters ' ')"
expect_equal "and writes what was not sent to a file (S6)" "kept queued PUT http://127.0.0.1:1/kept {\"text\":\"kept\"}" \
    "$(jq --raw-output '"\(.id) \(.state) \(.request.method) \(.request.url) \(.request.body | tojson)"' \
        "$root/var/lib/larder/unsent.jsonl")"
expect_equal "with the change, and for its owner alone" '[{"target":{"id":"http://127.0.0.1:1/kept"},"effect":{"type":"put","value":{"text":"kept"}}}] 600' \
    "$(jq --compact-output .changes "$root/var/lib/larder/unsent.jsonl") $(stat --format=%a "$root/var/lib/larder/unsent.jsonl")"

dpkg_root --purge larder || not_ok "dpkg purges the package" "exit status 0" "$(tail -n 20 "$work/dpkg")"
expect_equal "a purge removes configuration, state and cache, with the links and their targets (S7)" "" \
    "$(find "$root"/{etc,var/lib,var/cache} -name '*larder*' ! -path '*/dpkg/*')"
kept=$(find "$root/var/backups" -type f)
expect_equal "the file goes to the backups, for root alone (S7)" \
    "larder-unsent-$(date +%Y-%m-%d).jsonl 600 kept" \
    "$(basename "$kept") $(stat --format=%a "$kept") $(jq --raw-output .id "$kept")"
expect_match "which dpkg's output names" "the writes that were not sent are in .*larder-unsent-" \
    "$(cat "$work/dpkg")"
expect_match "the groups stay" "larder-clients" "$(cat "$root/etc/group")"

# What cannot be exported is kept as it is.
dpkg_root --install "$larder"
mkdir -p "$root/var/lib/larder"
head -c 8192 /dev/urandom >"$root/var/lib/larder/state.db"
cp "$root/var/lib/larder/state.db" "$work/damaged"
dpkg_root --purge larder || not_ok "dpkg purges a damaged state" "exit status 0" "$(tail -n 20 "$work/dpkg")"
kept=$(find "$root/var/backups" -name '*.db')
expect_same_file "a state.db that cannot be read goes to the backups (S7)" "$work/damaged" "$kept"
expect_equal "for root alone" 600 "$(stat --format=%a "$kept")"

if [[ -n ${lintian:-} ]]; then
    wait "$lintian" || true
    expect_equal "lintian finds nothing wrong (S8)" "" \
        "$(grep -v 'running with root privileges' "$work/lintian")"
else
    skip "lintian finds nothing wrong (S8)" "there is no lintian"
fi
finish
