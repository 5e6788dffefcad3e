# documents: see documents.sh; after markdown.awk. Reads what there is, then all texts twice: their headings, then what they name.

function complain(text) { print FILENAME ":" FNR ": " text; bad = 1 }

function beside(path) { return normal(folder path) }

function look_for_link(to, at, name) {
    if (to ~ /^[a-z]+:/)
        return
    at = index(to, "#")
    name = at ? substr(to, at + 1) : ""
    to = at ? substr(to, 1, at - 1) : to
    to = to == "" ? FILENAME : beside(to)
    if (!(to in there))
        complain("a link to " to ", which is not there")
    else if (name != "" && to ~ /\.md$/ && !((to, name) in headings))
        complain("a link to #" name " of " to ", which has no such heading")
}

# NAME stands for any name, and what is in build is made; so are a student's answers and an archive. PyTorch's
# files are not ours. A starter is without the grader's mutants.
function look_for_file(path) {
    if (path ~ /^tests\/grade\/mutants/ && !("tests/grade/mutants" in there))
        return
    if (path ~ /^((build|torch|deepspeed|offline-[a-z0-9-]+)\/|(.*\/)?ANSWERS\.md$)/ ||
        (path !~ /\.md$/ && path ~ /(^|[-_\/])[A-Z][A-Z]+([._]|$)/))
        return
    if ((beside(path) in there) || (normal(path) in there) || (path in named))
        return
    complain("there is no " path)
}

function look_for_files(text, path, after) {
    gsub(/\]\([^)]*\)|[a-z]+:\/\/[^ )>]*/, "", text) # links have a check of their own
    while (match(text, /[A-Za-z0-9_.\/-]+/)) {
        path = substr(text, RSTART, RLENGTH)
        after = substr(text, RSTART + RLENGTH, 1)
        if (RSTART > 1 && substr(text, RSTART - 1, 1) ~ /[*$<{~]/ || after ~ /[*<{$]/)
            path = ""
        text = substr(text, RSTART + RLENGTH)
        sub(/[.\/]+$/, "", path)
        if (path ~ /^[^\/]/ && path ~ /[A-Za-z0-9_]\.(c|h|sh|gp|awk|md)$/ ||
            path ~ /^(common|docs|tests|lesson0[1-4]_[a-z0-9]+)\/[^\/]/)
            look_for_file(path)
    }
}

# The first word behind `make` that is neither A=B nor a flag.
function look_for_target(code, words, count, i, quotes) {
    count = split(code, words, " ")
    for (i = 1; i <= count && words[i] != "make"; i++)
        ;
    for (i++; i <= count; i++) {
        quotes += gsub(/"/, "\"", words[i])
        if (words[i] ~ /[="]/ || quotes % 2 || words[i] ~ /^-/)
            continue
        sub(/[,.;:)]+$/, "", words[i])
        if (words[i] ~ /^[a-z][a-z0-9-]*$/ && !(words[i] in targets))
            complain("there is no `make " words[i] "`")
        return
    }
}

# 02.4/sums: a check of the grader.
function look_for_checks(text, check) {
    while (match(text, /0[1-4]\.[0-9]+\/[a-z][a-z0-9]*/)) {
        check = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (!(check in checks))
            complain("the grader has no check " check)
    }
}

# Between backticks, which may close on another line.
function look_for_spans(text, parts, count, i) {
    count = split(text, parts, "`")
    for (i = 1; i <= count; i++) {
        if (in_span)
            span = span (i == 1 ? " " : "") parts[i]
        if (i == count)
            break
        if (in_span && span ~ /^([A-Z_]+=[^ ]* |time )*make /)
            look_for_target(span)
        in_span = !in_span
        span = ""
    }
}

FILENAME !~ /\.md$/ && $1 == "file" {
    path = substr($0, 6)
    there[path]
    sub(/.*\//, "", path)
    named[path]
}
FILENAME !~ /\.md$/ && $1 == "target" { for (i = 2; i <= NF; i++) targets[$i] }
FILENAME !~ /\.md$/ && $1 == "check" { checks[$2] }
FILENAME !~ /\.md$/ { next }

FNR == 1 {
    reading = FILENAME in seen
    seen[FILENAME]
    fenced = in_span = 0
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
}
/^ *```/ { fenced = !fenced; next }
!reading {
    if (!fenced && /^#+ /) {
        heading = $0
        sub(/^#+ /, "", heading)
        headings[FILENAME, anchor(heading)]
    }
    next
}
{ look_for_files($0) }
{ look_for_checks($0) }
fenced && /^(\$ )?([A-Z_]+=[^ ]* |time )*make / || !fenced && /^    make / { look_for_target($0) }
fenced { next }
/^ *$/ { in_span = 0 }
{
    look_for_spans($0)
    text = $0
    while (match(text, /\]\([^) ]*\)/)) {
        look_for_link(substr(text, RSTART + 2, RLENGTH - 3))
        text = substr(text, RSTART + RLENGTH)
    }
}
END { exit bad }
