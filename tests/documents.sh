#!/bin/sh
# documents: is all there that the texts name? Links and their headings, files, targets of make, the grader's checks.
#
#   sh tests/documents.sh ROOT     prints what is missing; 1 when anything is
#
# Every .md of the tree is read. A file is looked for beside the text, from the root, or by its name alone.
set -u

here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?which tree?}" || exit 2

tree() { # FIND'S WORDS: of everything but what was built
    find . \( -path ./.git -o -path ./build \) -prune -o "$@" -print | sed 's,^\./,,' | sort
}

# shellcheck disable=SC2046 # words, one each
{
    tree -name '*' | sed 's/^/file /'
    sed -n 's/^\([a-z][a-z0-9 -]*\):.*/target \1/p' Makefile
    sed -n 's/^ *{"\(0[1-4][.][0-9]*\)", "\([a-z0-9]*\)", KIND_.*/check \1\/\2/p' tests/grade/lesson0*.c
} |
    awk -f "$here/markdown.awk" -f "$here/documents.awk" - $(tree -name '*.md') $(tree -name '*.md')
