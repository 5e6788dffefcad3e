#!/bin/sh
# install: what the course needs, from the packages in this folder, without a network.
#
#   sudo sh install.sh
#
# The system's own sources of packages are neither asked nor changed. What is here in the same version stays as it is.
set -u

cd "$(dirname "$0")" || exit 1
system='' processor='' packages=''
# shellcheck source=/dev/null # comes with the archive
. ./system

refuse() { # SENTENCE...
    echo "install: $*" >&2
    exit 2
}

# shellcheck source=/dev/null
found=$(. /etc/os-release && echo "${VERSION_CODENAME:-$ID}")
[ "$found" = "$system" ] || refuse "the packages here are of $system, this machine has $found: make an archive on one like it"
found=$(dpkg --print-architecture)
[ "$found" = "$processor" ] || refuse "the packages here are for $processor, this machine has $found: make an archive on one like it"
[ "$(id -u)" = 0 ] || refuse "only root can install packages: sudo sh install.sh"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$work/lists/partial"
echo "deb [trusted=yes] file:$(pwd | sed 's/ /%20/g')/debs ./" >"$work/sources"

from_here() { # ARGUMENTS of apt-get
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dir::Etc::SourceList="$work/sources" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 "$@"
}

from_here update || exit 1
# shellcheck disable=SC2086 # words, one each
from_here install --no-install-recommends $packages || exit 1
echo "Installed. Now: cd '$(pwd)/course' && make check"
