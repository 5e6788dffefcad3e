#!/bin/sh
# offline: one archive for a room without network: a tree, and the packages it needs, as files.
#
#   TREE=DIR EXTRA="THING..." sh common/course/offline.sh [OUT.tar]
#
# Made on one machine with Debian or Ubuntu and a network, for others with the same release and processor. The packages are
# those a bare system lacks (an empty list of what is installed stands in for it), so nothing depends on what is on this machine.
# TREE: what students get, as a rule a starter (make starter); unless given, this tree, with its solutions.
# EXTRA: more rows of common/install.sh: fashion-mnist clang.
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common/course/place.sh
. "$here/place.sh"
things="make compiler pkg-config openblas libuv zlib jansson check git gnuplot ${EXTRA-}"
tree=${TREE:-.}

refuse() { # SENTENCE...
    echo "offline: $*" >&2
    exit 2
}

[ -f "$tree/common/install.sh" ] || refuse "TREE: there is no tree of this course in $tree"
# shellcheck disable=SC2086 # words, one each
packages=$(sh "$here/../install.sh" packages $things) || refuse "EXTRA: expected names of common/install.sh's table; see above"
packages=$(echo "$packages" | tr '\n' ' ')
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    refuse "apt-get and dpkg-deb are missing: make the archive on a Debian or Ubuntu as the room has; elsewhere install once, by hand, what README.md names"
fi
# shellcheck source=/dev/null
system=$(. /etc/os-release && echo "${VERSION_CODENAME:-$ID}")
processor=$(dpkg --print-architecture)
name=offline-$system-$processor
out=${1:-$name.tar}
[ ! -e "$out" ] || refuse "$out is there already, and stays as it is: move it away, or say OUT=another.tar"
[ -d "$(dirname "$out")" ] || refuse "$out: there is no folder $(dirname "$out")"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$placing"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$work/$name/debs" "$work/cache/partial" "$work/$name/course"
: >"$work/installed" # nothing

# As root the lists of packages are made new first. Who is not root has those of the system.
[ "$(id -u)" != 0 ] || apt-get -qq update || exit 1
# shellcheck disable=SC2086
apt-get -qq -y --no-install-recommends --download-only -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
    -o Dir::State::status="$work/installed" -o Dir::Cache::archives="$work/cache" -o Dir::Cache::pkgcache= \
    -o Dir::Cache::srcpkgcache= -o Dpkg::Use-Pty=0 install $packages >"$work/said" 2>&1 || {
    cat "$work/said" >&2
    echo "offline: the packages could not be had; see above" >&2
    exit 1
}
mv "$work"/cache/*.deb "$work/$name/debs/" || exit 1

# What apt-get wants to know of a folder with packages.
(
    cd "$work/$name/debs" || exit 1
    for file in *.deb; do
        dpkg-deb -f "$file"
        echo "Filename: ./$file"
        echo "Size: $(($(wc -c <"$file")))"
        echo "SHA256: $(sha256sum "$file" | cut -d ' ' -f 1)"
        echo
    done >Packages
)

if git -C "$tree" rev-parse --verify --quiet HEAD >/dev/null; then
    (cd "$tree" && git archive --format=tar HEAD) | tar -xf - -C "$work/$name/course" || exit 1
else
    (cd "$tree" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$work/$name/course" || exit 1
fi
cp "$here/offline_install.sh" "$work/$name/install.sh"
printf 'system=%s\nprocessor=%s\npackages="%s"\n' "$system" "$processor" "$packages" >"$work/$name/system"
tar -cf "$work/packed" -C "$work" "$name" || exit 1
place "$work/packed" "$out" || refuse "cannot write $out, of which nothing was left; see above"

count=$(find "$work/$name/debs" -name '*.deb' | wc -l)
echo "$out: $(($(wc -c <"$out") / 1024 / 1024)) MiB, for machines with $system on $processor"
echo "  course: the tree $tree; debs: $((count)) packages, all that a bare system lacks"
echo "On each machine: tar xf $(basename "$out") && sudo sh $name/install.sh, then cd $name/course && make check"
