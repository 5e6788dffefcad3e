#!/bin/sh
# translations: does every page in Chinese, X.zh.md, have the shape of the English one, X.md?
#
#   sh tests/translations.sh ROOT     prints where they part; 1 when they do
#
# The same headings by level, paragraphs, list items and rows, in the same order; in each the same numbers, inline
# code, tags and links, to pages in Chinese where there are any; comments and blocks of code byte for byte. What the
# words say no script can judge; but a change of substance rarely leaves all of these alone.
# The front page and the lessons must be there in Chinese; other pages may.
# A page in Chinese that has no English one is not compared. One of them, docs/glossary.zh.md, says which Chinese
# words are not to be used for a term, in the third column of its table: no other page has them.
set -u

here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?which tree?}" || exit 2

# shellcheck disable=SC2046 # words, one each; no name has a space
set -- $(find . \( -path ./.git -o -path ./build \) -prune -o -name '*.md' -print | sed 's,^\./,,' | sort)
awk -f "$here/markdown.awk" -f "$here/translations.awk" "$@"
