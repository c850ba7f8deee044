# What the scripts share. Source it; it changes to the top of the tree.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

# The same for every build of the scripts, so that nothing is built twice. SwiftPM passes
# -warnings-as-errors on to our targets only: those of other packages are built without warnings.
build_flags=(--explicit-target-dependency-import-check error -Xswiftc -warnings-as-errors)

# What the build, the tests and the quickstart need of Debian: libraries, a server with real files
# to be asked for, and what the scripts themselves call.
# shellcheck disable=SC2034
debian_packages=(libbrotli-dev libmd-dev libsqlite3-dev libxxhash-dev libyaml-dev libzstd-dev zlib1g-dev pkg-config
    nginx-light iso-codes curl jq openssl sqlite3 util-linux)

# What scripts/package needs besides.
# shellcheck disable=SC2034
package_packages=(build-essential debhelper dh-python fakeroot git lintian man-db pybuild-plugin-pyproject
    python3-all)

say() {
    printf '%s\n' "$*" >&2
}

fail() {
    say "error: $*"
    exit 1
}

require_swift() {
    command -v swift >/dev/null || fail "swift is not in PATH; see https://www.swift.org/install/"
}

# Prints those of the named packages that are not installed.
missing_packages() {
    local package status
    for package in "$@"; do
        # shellcheck disable=SC2016
        status=$(dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null || true)
        [[ $status == "install ok installed" ]] || printf '%s\n' "$package"
    done
}

# Installs what is missing of the named packages, and touches nothing when nothing is.
install_packages() {
    local missing=() apt=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet --quiet)
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "This is not Debian or Ubuntu; the following must be there by other means: $*"
        return
    fi
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]} > 0)) || return 0
    if ((EUID != 0)); then
        command -v sudo >/dev/null \
            || fail "these packages are missing; install them as root: apt-get install ${missing[*]}"
        apt=(sudo "${apt[@]}")
    fi
    say "Installing ${missing[*]}"
    local install=("${apt[@]}" install --yes --no-install-recommends "${missing[@]}")
    "${install[@]}" >/dev/null 2>&1 && return
    # The package lists may be old or not there.
    "${apt[@]}" update >&2 || fail "apt-get update failed"
    "${install[@]}" >&2 || fail "these packages could not be installed: ${missing[*]}"
}

# Prints the folder of the built programs.
programs_folder() {
    swift build "${build_flags[@]}" --show-bin-path
}

# The release that is installed: with Swift's runtime in the programs, in a folder of its own, so that
# it is built beside the debug build. It needs no library but Debian's at run time. A program exports
# no symbols, as nothing is loaded into it; a function that nothing calls goes, as each has a section of
# its own; equal functions are kept once, and relocations packed (glibc 2.36). The linker is the one of
# Swift's toolchain. The folder of the sources is in no program, so that builds of one commit in two
# folders differ less.
release_flags=(--configuration release --static-swift-stdlib --scratch-path .build/static
    -Xswiftc -use-ld=lld -Xlinker --gc-sections -Xlinker --no-export-dynamic -Xlinker --icf=safe
    -Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections -Xcc -fdata-sections
    -Xlinker -z -Xlinker pack-relative-relocs -Xswiftc -file-prefix-map -Xswiftc "$root=/usr/src/larder"
    -Xcc "-ffile-prefix-map=$root=/usr/src/larder" "${build_flags[@]}")

# release_build PRODUCT...: each of them also has to start.
release_build() {
    local product folder
    folder=$(release_folder)
    for product in "$@"; do
        swift build --quiet "${release_flags[@]}" --product "$product" >&2 \
            || fail "the release build of $product failed"
        "$folder/$product" --version >/dev/null || fail "the release build of $product does not start"
    done
}

release_folder() {
    swift build "${release_flags[@]}" --show-bin-path
}

# Prints every shell script of the tree.
shell_scripts() {
    local file
    for file in scripts/* .ci/* Tests/scripts/* Benchmarks/* packaging/debian/*; do
        [[ -f $file ]] || continue
        if [[ $file == *.sh ]] || head -n 1 "$file" | grep -q '^#!.*\(bash\|sh\)$'; then
            printf '%s\n' "$file"
        fi
    done
}
