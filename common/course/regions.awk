# regions: takes the solution out of the marked regions of a file. See common/course/tasks.h.
#
#   awk -v from=02 -f regions.awk FILE      regions of tasks of lesson `from` and above are emptied
#   awk -v only=02.4 -f regions.awk FILE    those of one task
#
# The markers stay as they are, so that a file may be emptied again.

function refuse(text) { print FILENAME ": " text > "/dev/stderr"; refused = 1; exit 1 }
function task_of(line) { return match(line, /[0-9][0-9]\.[0-9]+/) ? substr(line, RSTART, RLENGTH) : "" }
function keep(line) { lines[count++] = line }

# What stands where the solution stood: a statement a line.
function put_instead(indent, line) {
    if (!sub(/.* instead: /, "", line))
        line = "todo(\"" inside "\");"
    gsub(/; /, ";\n" indent, line)
    keep(indent line)
    emptied = 1
}

/^ *\/\/ task [0-9][0-9]\.[0-9]+ \{$/ {
    if (inside != "")
        refuse("line " NR ": task " inside " has no end before another begins")
    inside = task_of($0)
    empties = only != "" ? inside == only : substr(inside, 1, 2) + 0 >= from + 0
    keep($0)
    next
}
/^ *\/\/ \} [0-9][0-9]\.[0-9]+/ {
    if (task_of($0) != inside)
        refuse("line " NR ": no task " task_of($0) " is open")
    indent = $0
    sub(/\/\/.*/, "", indent)
    if (empties)
        put_instead(indent, $0)
    inside = ""
    empties = 0
    keep($0)
    next
}
!empties { keep($0) }

# todo() is declared after the file's own header.
END {
    if (refused)
        exit 1
    if (inside != "")
        refuse("task " inside " has no end")
    for (i = 0; i < count; i++) {
        if (emptied && lines[i] == "#include \"common/todo.h\"")
            continue
        print lines[i]
        if (emptied && !declared && lines[i] ~ /^#include "/) {
            print "#include \"common/todo.h\""
            declared = 1
        }
    }
}
