#!/bin/sh
# check: runs every command of every English text, in order, in a fresh copy of the tree, and compares what it prints.
#
#   sh tests/texts/check.sh [TEXT.md...]     `make check-texts`; 1 when a text shows what is not so
#
# Which commands, and what may stand before them: commands.awk. What is compared, and what is masked: compare.awk. Of commands
# that cannot run here only the flags are looked for.
#
# OpenBLAS's kernels for Haswell print the figures that the texts show, so where they can run figures must be the same. Elsewhere, or
# with another OpenBLAS, they may be off by 2 %: SLACK=0.02.
set -u

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
trap 'exit 130' INT TERM

files() { git ls-files --cached --others --exclude-standard 2>/dev/null || find . \( -path ./.git -o -path ./build \) -prune -o -type f -print; }

tree=$room/tree
mkdir "$tree"
files | tar -cf - -T - | tar -xf - -C "$tree"

export MAKEFLAGS=-s OPENBLAS_CORETYPE="${OPENBLAS_CORETYPE:-Haswell}" OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}" LC_ALL=C
unset CI BUILD || true
if [ ! "${SLACK-}" ]; then
    SLACK=0.02
    [ "$OPENBLAS_CORETYPE" = Haswell ] && grep -qw avx2 /proc/cpuinfo 2> /dev/null && SLACK=0
fi
cd "$tree" || exit 2
make -j"$(getconf _NPROCESSORS_ONLN)" all > "$room/make.log" 2>&1 || { cat "$room/make.log"; exit 1; }
for program in lesson01_single lesson02_allreduce lesson03_ddp lesson04_zero launch verify consolidate doctor; do
    "build/$program" --help
done > "$room/help" 2>&1

# shellcheck disable=SC2046 # words, one each
[ $# -gt 0 ] || set -- $(find . -name '*.md' ! -name '*.zh.md' ! -path './build/*' | sed 's,^\./,,' | sort)
bad=0
for text in "$@"; do
    began=$(date +%s)
    awk -v out="$room" -f tests/texts/commands.awk "$text" || exit 2
    bash "$room/run.sh" > "$room/printed" 2>&1 < /dev/null
    said=$(awk -v slack="$SLACK" -f tests/texts/compare.awk "$room/expected" "$room/printed") || bad=1
    awk -f tests/texts/flags.awk "$room/help" "$text" || bad=1
    echo "$said" | sed "\$s,^,$text: ,; \$s/\$/, $(($(date +%s) - began)) s/"
done
[ "$bad$SLACK" != 10 ] || echo "figures were to be the same to the last digit; with another OpenBLAS: SLACK=0.02 make check-texts"
exit $bad
