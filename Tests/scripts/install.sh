#!/usr/bin/env bash
# scripts/install as a user calls it: into a prefix, once more over what is there, and away again.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

prefix=$work/prefix
run_install() {
    scripts/install --prefix "$prefix" --programs "$bin" "$@" >"$work/said" 2>&1
}
files() { (cd "$prefix" && find . -type f -printf '%m %P\n' | LC_ALL=C sort -k 2); }

expect_equal "it installs into a prefix" 0 "$(run_install; echo $?)"
expect_equal "programs, units, groups, a configuration and completions" "755 bin/cachectl
755 bin/larderd
640 etc/larder/larder.yaml
644 lib/systemd/system/larder.service
644 lib/systemd/system/larder.socket
644 lib/systemd/user/larder.service
644 lib/systemd/user/larder.socket
644 lib/sysusers.d/larder.conf
644 share/bash-completion/completions/cachectl
644 share/fish/vendor_completions.d/cachectl.fish
644 share/zsh/site-functions/_cachectl" "$(files)"
expect_match "the unit starts what was installed" "^ExecStart=$prefix/bin/larderd" \
    "$(grep '^ExecStart=' "$prefix/lib/systemd/system/larder.service")"
expect_match "so does the unit of a user's own daemon" "^ExecStart=$prefix/bin/larderd" \
    "$(grep '^ExecStart=' "$prefix/lib/systemd/user/larder.service")"
expect_equal "with the configuration that was installed" \
    "Environment=LARDER_CONFIG=$prefix/etc/larder/larder.yaml" \
    "$(grep '^Environment=LARDER_CONFIG' "$prefix/lib/systemd/system/larder.service")"
expect_equal "which is right, and all of it a comment" "0 0" \
    "$("$prefix/bin/larderd" --config "$prefix/etc/larder/larder.yaml" --check-config >/dev/null 2>&1
        echo $?) $(grep --count --invert-match '^ *\(#\|$\)' "$prefix/etc/larder/larder.yaml")"
expect_match "it says how to start it" "Start it: .*$prefix/bin/larderd" "$(tail -n 2 "$work/said" | xargs)"

before=$(files)
echo 'log: {level: debug}' >>"$prefix/etc/larder/larder.yaml"
expect_equal "once more it installs the same" "0 $before" "$(run_install; echo $?) $(files)"
expect_equal "and keeps a configuration that was changed" "log: {level: debug}" \
    "$(tail -n 1 "$prefix/etc/larder/larder.yaml")"
expect_equal "it takes away what it installed, and keeps that" "0 640 etc/larder/larder.yaml" \
    "$(run_install --uninstall; echo $?) $(files)"
rm "$prefix/etc/larder/larder.yaml"
run_install
run_install --uninstall
expect_equal "with the folders that it made" "" "$(ls "$prefix")"
expect_match "an unknown option is refused by name" "1.*unknown option '--prefx'" \
    "$({ scripts/install --prefx x 2>&1 || echo 1; } | tac | xargs --delimiter='\n')"

# without_proc COMMAND...: as in a chroot that has no /proc.
without_proc() {
    # shellcheck disable=SC2016
    unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
}
if without_proc true 2>/dev/null; then
    expect_match "without /proc larderd exports nothing, starts nothing and says why" \
        '^64 .*the arguments cannot be read: /proc is not mounted' \
        "$(code=0; said=$(without_proc timeout 20 "$bin/larderd" --export-unsent 2>&1) || code=$?
            echo "$code $said" | xargs --delimiter='\n')"
else
    skip "larderd without /proc" "no mount may be made"
fi

HOME=$work/home
mkdir "$HOME"
unset XDG_CONFIG_HOME
scripts/install --user --programs "$bin" >"$work/said" 2>&1
prefix=$HOME
expect_equal "--user installs for one user alone" \
    "755 .local/bin/larderd 644 .config/systemd/user/larder.service 640 .config/larder/larder.yaml" \
    "$(files | grep -e larderd -e larder.service -e larder.yaml | LC_ALL=C sort -r -k 2 \
        | sed -n 'p' | xargs)"
scripts/install --user --uninstall >/dev/null 2>&1
expect_equal "and takes it away" "" "$(files)"
finish
