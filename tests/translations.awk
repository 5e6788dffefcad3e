# translations: see translations.sh; after markdown.awk. Reads all texts, each as a list of blocks, then compares.
#
# A block has a kind (a heading, a list item, ...) and things: what a translation must keep of it.

function complain(at, text) { print at ": " text; bad = 1 }

function add(thing) { things[file, count, ++things_of[file, count]] = thing }

# What `pattern` finds in `text`, but for `before` bytes in front and `after` behind; returns the rest.
function take(text, pattern, before, after, what, rest) {
    while (match(text, pattern)) {
        add(what substr(text, RSTART + before, RLENGTH - before - after))
        rest = rest substr(text, 1, RSTART - 1) " "
        text = substr(text, RSTART + RLENGTH)
    }
    return rest text
}

function end_block() {
    if (open == "")
        return
    text_of[file, count] = open
    open = take(open, "`[^`]+`", 0, 0)
    open = take(open, "\\]\\([^) ]*\\)", 2, 1, "a link to ")
    open = take(open, "<[^>]*>", 0, 0)
    take(open, "[0-9]+([.,][0-9]+)*", 0, 0, "the number ")
    open = ""
}

function begin_block(what, text) {
    end_block()
    count = ++blocks[file]
    kind[file, count] = what
    line_of[file, count] = FNR
    open = text
}

function begin_heading(level, text) {
    level = index($0, " ") - 1
    text = substr($0, level + 2)
    begin_block("a heading of level " level, text)
    heading_of[file, anchor(text)] = ++headings[file]
    anchor_of[file, headings[file]] = anchor(text)
}

FNR == 1 {
    end_block()
    fenced = 0
    file = FILENAME
    seen[file]
    pages[++page_count] = file
}
/^ *```/ { begin_block("the line of code " $0); fenced = !fenced; next }
fenced || open == "" && /^    / { begin_block("the line of code " $0); next }
/^ *$/ { end_block(); next }
/^#+ / { begin_heading(); next }
/^<!--/ { begin_block("the comment " $0); next }
/^ *\|/ { begin_block("a row of " gsub(/\|/, "|") - 1 " cells", $0); next }
/^ *- / { begin_block("a list item " index($0, "-") - 1 " deep", $0); next }
/^ *[0-9]+\. / { begin_block("a numbered item", $0); next }
open == "" { begin_block("a paragraph", $0); next }
{ open = open " " $0 }

function in_chinese(page) { return substr(page, 1, length(page) - 3) ".zh.md" }

# The path from a page to what it links to, as one from the root.
function from_root(page, path) {
    sub(/[^\/]*$/, "", page)
    return normal(page path)
}

# What a link of an English page is in Chinese. The link to its own translation leads back.
function link_in_chinese(page, to, at, name, path, other) {
    at = index(to, "#")
    name = at ? substr(to, at + 1) : ""
    path = at ? substr(to, 1, at - 1) : to
    other = path == "" ? page : from_root(page, path)
    if (other == in_chinese(page)) {
        sub(/\.zh\.md$/, ".md", path)
        return path
    }
    if (other !~ /\.md$/ || !(in_chinese(other) in seen))
        return to
    if (name != "" && (other, name) in heading_of)
        name = anchor_of[in_chinese(other), heading_of[other, name]]
    return (path == "" ? "" : in_chinese(path)) (name == "" ? "" : "#" name)
}

# A link to a page that only readers of Chinese need is the translation's own.
function is_extra(page, thing, path) {
    if (thing !~ /^a link to .*\.zh\.md/)
        return 0
    path = from_root(page, substr(thing, 11))
    sub(/\.zh\.md.*/, ".md", path)
    return !(path in seen)
}

function compare_things(page, i, other, j, k, thing, wanted) {
    for (k = 1; k <= things_of[page, i]; k++) {
        thing = things[page, i, k]
        if (thing ~ /^a link to /)
            thing = "a link to " link_in_chinese(page, substr(thing, 11))
        wanted[thing]++
    }
    for (k = 1; k <= things_of[other, j]; k++)
        wanted[things[other, j, k]]--
    for (thing in wanted)
        if (wanted[thing] > 0 || wanted[thing] < 0 && !is_extra(other, thing))
            complain(other ":" line_of[other, j], (wanted[thing] > 0 ? "lacks " : "has too many: ") thing \
                     ", see " page ":" line_of[page, i])
}

function name_of(page, i) { return i > blocks[page] ? "the end" : kind[page, i] }
function is_heading(page, i) { return name_of(page, i) ~ /^a heading/ }

function next_heading(page, i) {
    while (i <= blocks[page] && !is_heading(page, i))
        i++
    return i
}

# Where the kinds part, one complaint, and on from the next heading of both.
function compare(page, other, i, j, both) {
    for (i = j = 1; i <= blocks[page] || j <= blocks[other];) {
        if (name_of(page, i) == name_of(other, j)) {
            compare_things(page, i++, other, j++)
            continue
        }
        complain(other ":" line_of[other, j], name_of(other, j) ", where " page ":" line_of[page, i] " has " \
                 name_of(page, i))
        both = is_heading(page, i) && is_heading(other, j)
        if (i > blocks[page] || j > blocks[other])
            return
        i = next_heading(page, i + both)
        j = next_heading(other, j + both)
    }
}

# The third column of the glossary, words with a Chinese comma between them.
function read_glossary(page, i, cells) {
    for (i = 1; i <= blocks[page]; i++)
        if (kind[page, i] == "a row of 3 cells" && split(text_of[page, i], cells, /\|/) && cells[4] !~ /^[ -]*$/)
            not_used = not_used "、" cells[4]
    gsub(/ /, "", not_used)
    word_count = split(substr(not_used, length("、") + 1), words, "、")
}

function look_for_words(page, i, k) {
    for (i = 1; i <= blocks[page]; i++)
        for (k = 1; k <= word_count; k++)
            if (index(text_of[page, i], words[k]))
                complain(page ":" line_of[page, i], "says " words[k] ", which " glossary " does not use")
}

END {
    end_block()
    glossary = "docs/glossary.zh.md"
    read_glossary(glossary)
    for (p = 1; p <= page_count; p++)
        if (pages[p] ~ /\.zh\.md$/ && pages[p] != glossary)
            look_for_words(pages[p])
    for (p = 1; p <= page_count; p++)
        if (in_chinese(pages[p]) in seen)
            compare(pages[p], in_chinese(pages[p]))
        else if (pages[p] ~ /^(lesson0[0-9]_[a-z]*\/)?README\.md$/)
            complain(pages[p], "there is no " in_chinese(pages[p]))
    exit bad
}
