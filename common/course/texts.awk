# texts: a text with what it quotes of the tree written anew. See texts.sh.
#
#   awk -f texts.awk TASKS.TSV TEXT.md     (from the root of the tree)
#
# A place stands between one of these lines and `<!-- end -->`:
#
#   <!-- contract HEADER NAME... -->   a paragraph of the header, for each function, struct or enum NAME: the
#                                      comment and the declarations under it
#   <!-- files -->                     a table | file | lines | what it is |: of each row, the lines of all
#                                      files that its first column links to
#   <!-- tasks 02 -->                  a lesson's tasks. The table's head stays as it is, and in *.zh.md the
#                                      titles that are there
#
# Anything wrong with a place ends in a sentence and exit code 2.

function give_up(text) {
    print FILENAME ": line " FNR ": " text > "/dev/stderr"
    failed = 1
    exit 2
}

# --- contracts ---

# Does this line of code declare the name? `name(` of a function; `name {` of a struct or an enum.
function declares(line, name) { return line ~ "(^|[^A-Za-z0-9_])" name "( \\{|\\()" }

function contract(header, name,   line, paragraph, found, in_comment, depth, code, had) {
    while ((getline line < header) > 0) {
        had = 1
        if (line ~ /^[ \t]*$/ && !in_comment && depth == 0) {
            if (found) { close(header); return paragraph }
            paragraph = ""
            continue
        }
        paragraph = paragraph line "\n"
        code = line
        if (in_comment || line ~ /^[ \t]*\/\*/) {
            in_comment = line !~ /\*\//
            continue
        }
        sub(/\/\/.*/, "", code)
        if (depth == 0 && code !~ /^#/ && declares(code, name))
            found = 1
        depth += gsub(/\{/, "{", code) - gsub(/\}/, "}", code)
    }
    close(header)
    if (!had)
        give_up("a contract of " header ", which cannot be read")
    if (!found)
        give_up(header " declares no " name)
    return paragraph
}

# --- files ---

function lines_of(path,   line, count) {
    while ((getline line < path) > 0)
        count++
    close(path)
    if (!count)
        give_up("a row of files names " path ", which is not there")
    return count
}

# a/b/../c -> a/c, as often as needed
function beside(path) {
    path = folder path
    while (sub(/[^\/]+\/\.\.\//, "", path))
        ;
    return path
}

function with_lines(row,   cells, count, i, rest, sum, line) {
    count = split(row, cells, "|")
    if (cells[2] !~ /\]\(/)
        return row
    rest = cells[2]
    while (match(rest, /\]\([^)#]*\)/)) {
        sum += lines_of(beside(substr(rest, RSTART + 2, RLENGTH - 3)))
        rest = substr(rest, RSTART + RLENGTH)
    }
    cells[3] = " " sum " "
    for (i = 2; i <= count; i++)
        line = line "|" cells[i]
    return line
}

# --- tasks ---

function up(   path, whole) {
    path = folder
    while (sub(/[^\/]+\//, "", path))
        whole = whole "../"
    return whole
}

function as_links(files,   names, count, i, name, whole) {
    count = split(files, names, " ")
    for (i = 1; i <= count; i++) {
        name = names[i]
        sub(/.*\//, "", name)
        whole = whole (i > 1 ? ", " : "") "[" name "](" (index(names[i], folder) == 1 && folder != "" ? name : up() names[i]) ")"
    }
    return whole
}

function task_row(row,   cells, title) {
    split(row, cells, "\t")
    title = cells[2]
    if (FILENAME ~ /\.zh\.md$/ && (cells[1] in titles))
        title = titles[cells[1]]
    return "| " cells[1] " | " title " | " as_links(cells[3]) " | " cells[4] " | " cells[5] " |"
}

function list_tasks(lesson,   i, some) {
    for (i = 1; i <= task_count; i++)
        if (index(rows[i], lesson ".") == 1) {
            print task_row(rows[i])
            some = 1
        }
    if (!some)
        give_up("there are no tasks of lesson " lesson)
}

# --- the text ---

NR == FNR { rows[++task_count] = $0; next }
FNR == 1 {
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
}
/^```/ && place == "" { fenced = !fenced }
fenced { print; next }

/^<!-- contract .* -->$/ {
    print
    print "```c"
    for (i = 4; i < NF; i++)
        printf "%s%s", (i > 4 ? "\n" : ""), contract($3, $i)
    print "```"
    place = "contract"
    next
}
/^<!-- files -->$/ { place = "files"; print; next }
/^<!-- tasks [0-9][0-9] -->$/ {
    place = "tasks"
    lesson = $3
    head = 0
    split("", titles)
    print
    next
}
/^<!-- end -->$/ && place != "" { # common/handbook.c has places of its own
    if (place == "tasks") {
        if (head == 0)
            print "| task | what | file | suites | hints |\n|---|---|---|---|---|"
        list_tasks(lesson)
    }
    place = ""
    print
    next
}
place == "contract" { next }
place == "files" && /^\|/ { $0 = with_lines($0) }
place == "tasks" {
    if (++head <= 2)
        print
    else if (split($0, cells, / *[|] */) > 2)
        titles[cells[2]] = cells[3]
    next
}
{ print }
END {
    if (!failed && place != "")
        give_up("a place of " place " has no <!-- end -->")
}
