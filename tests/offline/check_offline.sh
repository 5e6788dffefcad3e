#!/bin/sh
# check_offline: does the archive of make offline do, on a bare Debian without a network?
#
#   sh tests/offline/check_offline.sh
#
# A bare system is made in a folder (debootstrap, which needs root and a network); in it, with no network but its own loopback,
# the archive is installed, built, tested a little, and lesson 2 trains. Some minutes; 130 MiB are fetched.
set -u
export LC_ALL=C

skip() { # WHY
    echo "check-offline: skipped: $1"
    exit 0
}

[ "$(id -u)" = 0 ] || skip "only root can make a bare system in a folder"
command -v debootstrap >/dev/null || skip "debootstrap is missing (apt-get install debootstrap)"
unshare -n -m true 2>/dev/null || skip "this system gives no network namespaces"

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
# shellcheck source=/dev/null
system=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # apt-get's own variable
mirror=$(apt-get indextargets --format '$(SITE)' "Codename: $system" 'Created-By: Packages' | head -n 1)

sh "$here/../../common/course/offline.sh" "$work/offline.tar" || exit 1
echo "a bare $system"
debootstrap --variant=minbase "$system" "$work/bare" "$mirror" >"$work/said" 2>&1 || { tail -n 20 "$work/said" >&2; exit 1; }
rm -f "$work"/bare/etc/apt/sources.list # nowhere to get anything from
tar -xf "$work/offline.tar" -C "$work/bare/root" && mv "$work"/bare/root/offline-* "$work/bare/root/a room" || exit 1

# The mounts are this namespace's, and gone with it.
cat >"$work/inside" <<'END'
ip link set lo up && mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" || exit 1
chroot "$1" sh -c 'cd "/root/a room" && sh install.sh >install.log 2>&1 || { tail -n 20 install.log >&2; exit 1; }
    cd course && make -s -j2 all build/check && make -s test SUITE="ring slice" && make -s lesson02 NP=2 ARGS="--epochs 1"'
END
env -i PATH="$PATH:/usr/sbin:/sbin" HOME=/root unshare -n -m sh "$work/inside" "$work/bare" || exit 1
echo "check-offline: installed, built, tested and run without a network"
