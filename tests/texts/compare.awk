# compare: what commands printed, against what a text shows. See commands.awk.
#
#   awk -v slack=0.02 -f compare.awk EXPECTED PRINTED     complains of each command that prints something else; 1 when one does.
#                                           Says which took long.
#
# Of what a text shows, `...` stands for any lines, also none; nothing shown: anything may be printed. Words are compared one by
# one, and what differs from run to run, or from machine to machine, is masked on both sides, here and nowhere else:
#
#   - times and rates: a number before s, ms, us, ns, samples/s, GB/s, GFLOP/s; lines of make that name what it makes
#   - addresses 127.0.0.1:PORT; process ids; in a block of times, and in one made short, all numbers
#   - with `slack`, for processors of other kinds, which add in another order: how far apart floats are (behind "largest difference",
#     "at most", before "times its bound"); bits (hexadecimal digits, 8 or more); and any other number with a point may be off by
#     `slack` of itself. Without it, all these are the same.
#
# A whole number must be the same. An experiment's row shows numbers; each that is no time must be among those printed.

function masked(line) {
    if (slack > 0) {
        gsub(/0x[0-9a-f]+/, "#", line)
        gsub(/(largest difference|at most) [0-9.e+-]+/, "off #", line)
        gsub(/[0-9.e+-]+ times its bound/, "# times its bound", line)
    }
    gsub(/127\.0\.0\.1:[0-9]+/, "#", line)
    gsub(/pid [0-9]+/, "pid #", line)
    line = masked_units(line)
    if (how == "times" || how == "short")
        gsub(/-?[0-9]+(\.[0-9]+)?/, "#", line)
    gsub(/[ \t]+/, " ", line)
    sub(/ $/, "", line)
    return line
}

function masked_units(line,   done, found) {
    while (match(line, /[0-9][0-9.]* (s|ms|us|ns|samples\/s|GB\/s|GFLOP\/s|seconds)([^A-Za-z0-9\/]|$)/)) {
        found = substr(line, RSTART, RLENGTH)
        sub(/^[0-9.]+/, "#", found)
        done = done substr(line, 1, RSTART - 1) found
        line = substr(line, RSTART + RLENGTH)
    }
    return done line
}

function is_hash(word) { return slack > 0 && length(word) >= 8 && word ~ /^"?[0-9a-f]+"?[,}]*$/ && word ~ /[0-9]/ && word ~ /[a-f]/ }

function near(a, b,   off) {
    if (a !~ /^-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?$/ || b !~ /^-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?$/ || (a b) !~ /[.e]/)
        return 0
    off = a > b ? a - b : b - a
    return off <= slack * (a < 0 ? -a : a) || (slack > 0 && off < 0.0002)
}

# Words that are not blanks: numbers stand alone in them.
function split_words(line, words) {
    gsub(/[^A-Za-z0-9.#+-]+/, " & ", line)
    return split(line, words, " ")
}

function same(shown, printed,   a, b, count, i) {
    shown = masked(shown)
    printed = masked(printed)
    if (shown == printed)
        return 1
    count = split_words(shown, a)
    if (split_words(printed, b) != count)
        return 0
    for (i = 1; i <= count; i++)
        if (a[i] != b[i] && !near(a[i], b[i]) && !(is_hash(a[i]) && is_hash(b[i])))
            return 0
    return 1
}

# Do lines i.. of what is shown say what lines j.. printed? `...` takes as few lines as will do.
function agrees(i, j) {
    for (; i <= shows; i++) {
        if (shown[i] ~ /^ *\.\.\.$/) {
            if (i == shows)
                return 1
            for (; j <= prints; j++)
                if (same(shown[i + 1], printed[j]) && agrees(i + 1, j))
                    return 1
            missed = i + 1
            return 0
        }
        if (j > prints || !same(shown[i], printed[j])) {
            if (i > missed)
                missed = i
            return 0
        }
        j++
    }
    if (j <= prints)
        missed = shows + 1
    return j > prints
}

# Of a block that is cut short: at least one line shown is printed, and the order is kept.
function is_part(   i, j, found) {
    for (i = j = 1; i <= shows; i++)
        for (k = j; k <= prints; k++)
            if (same(shown[i], printed[k])) {
                found = 1
                j = k + 1
                break
            }
    return found
}

# Of a block that is cut short: a line whose first word begins one line shown is that line.
function contradicts(   i, j, of, first, at, many) {
    for (j = 1; j <= prints; j++) {
        split(printed[j], first, " ")
        many = 0
        for (i = 1; i <= shows; i++) {
            split(shown[i], of, " ")
            if (of[1] == first[1]) {
                many++
                at = i
            }
        }
        if (many == 1 && !same(shown[at], printed[j])) {
            missed = at
            return 1
        }
    }
    return 0
}

# Each number of an experiment's row is among those printed.
function holds_numbers(   i, j, words, count, wanted, wants, here, all) {
    for (j = 1; j <= prints; j++)
        all = all " " printed[j]
    count = split_words(all, words)
    wants = split_words(masked_units(shown[1]), wanted)
    for (i = 1; i <= wants; i++) {
        sub(/\.$/, "", wanted[i])
        if (wanted[i] !~ /^-?[0-9]+(\.[0-9]+)?$/)
            continue
        here = 0
        for (j = 1; j <= count && !here; j++)
            here = wanted[i] == words[j] || near(wanted[i], words[j])
        if (!here) {
            lacking = wanted[i]
            return 0
        }
    }
    return 1
}

function complain(text,   i) {
    print place[number] ": " text
    print "    $ " commands[number]
    for (i = 1; i <= prints && i <= 12; i++)
        print "    > " printed[i]
    bad = 1
}

function judge(   i, lines) {
    if (!number || skipped) {
        skips += skipped
        return
    }
    how = hows[number]
    sub(/ .*/, "", how)
    shows = split(texts[number], shown, "\n") - 1
    missed = 0
    ran++
    if (exit_code != codes[number])
        complain("leaves with " exit_code ", expected " codes[number])
    else if (shows < 1)
        return
    else if (how == "row") {
        if (!holds_numbers())
            complain("shows " lacking ", which was not printed")
    } else if (how == "cut" || how == "short") {
        if (!is_part())
            complain("prints nothing of what is shown")
        else if (how == "cut" && contradicts())
            complain("prints other than \"" shown[missed] "\"")
    } else if (!agrees(1, 1))
        complain(missed > shows ? "prints more than is shown" : "prints other than \"" shown[missed] "\"")
}

NR == FNR && /^@@ [0-9]+ / {
    last = $2
    place[last] = $3
    codes[last] = $4
    hows[last] = $5
    in_command = 1
    next
}
NR == FNR && /^@@ shows$/ { in_command = 0; next }
NR == FNR && in_command { commands[last] = commands[last] (commands[last] == "" ? "" : "\n      ") $0; next }
NR == FNR { texts[last] = texts[last] $0 "\n"; next }

/^@@ [0-9]+$/ {
    judge()
    number = $2
    prints = skipped = 0
    exit_code = "none"
    next
}
/^@@ exit [0-9]+ [0-9]+$/ {
    exit_code = $3
    if ($4 - ended >= 20)
        print place[number] ": took " $4 - ended " s"
    ended = $4
    next
}
/^@@ skipped$/ { skipped = 1; next }
/^make(\[[0-9]+\])?: (Entering|Leaving) directory|^  build\/[A-Za-z0-9_\/.]+$/ { next }
{ printed[++prints] = $0 }
END {
    judge()
    if (number + 0 != last + 0) {
        print place[last] ": was not come to: a command before it ended the shell"
        bad = 1
    }
    printf "%d commands%s\n", ran, skips ? ", " skips " left out" : ""
    exit bad
}
