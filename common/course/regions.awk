# regions: takes the solution out of the marked regions of a file. See common/course/tasks.h.
#
#   awk -v from=02 -f regions.awk FILE      regions of tasks of lesson `from` and above are emptied

function task_of(line) { return match(line, /[0-9][0-9]\.[0-9]+/) ? substr(line, RSTART, RLENGTH) : "" }

/^ *\/\/ task [0-9][0-9]\.[0-9]+ \{$/ {
    if (inside != "") { print FILENAME ": line " NR ": task " inside " has no end before another begins" > "/dev/stderr"; exit 1 }
    print
    inside = task_of($0)
    empties = substr(inside, 1, 2) + 0 >= from + 0
    next
}
/^ *\/\/ \} [0-9][0-9]\.[0-9]+/ {
    if (task_of($0) != inside) { print FILENAME ": line " NR ": no task " task_of($0) " is open" > "/dev/stderr"; exit 1 }
    indent = $0
    sub(/\/\/.*/, "", indent)
    rest = $0
    sub(/^ *\/\/ \} [0-9][0-9]\.[0-9]+ */, "", rest)
    if (empties) {
        if (rest ~ /^unused: /) {
            sub(/^unused: /, "", rest)
            count = split(rest, names, / *, */)
            for (i = 1; i <= count; i++)
                print indent "(void)" names[i] ";"
            rest = ""
        }
        if (rest ~ /^instead: /) {
            sub(/^instead: /, "", rest)
            print indent rest
        } else {
            print indent "todo(\"" inside "\");"
        }
        print indent "// } " inside
    } else {
        print
    }
    inside = ""
    next
}
inside != "" && empties { next }
{ print }
END { if (inside != "") { print FILENAME ": task " inside " has no end" > "/dev/stderr"; exit 1 } }
