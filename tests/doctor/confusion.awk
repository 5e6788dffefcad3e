# confusion: of the lines PART|PLANTED|DIAGNOSED|..., what was planted against what was diagnosed, and the sums.
# A part "matrix" is shown in full. Leaves with 1 when anything differs; what a lesson refused does not count.
function place(name) {
    if (!(name in index_of)) { index_of[name] = ++names; name_of[names] = name }
    return index_of[name]
}
$1 == "matrix" { place($2) }
{ rows[NR] = $0 }
END {
    singles = names
    for (r = 1; r <= NR; r++) {
        split(rows[r], f, "|")
        if (f[1] != "matrix") continue
        parts = split(f[3], d, "+")
        for (p = 1; p <= parts; p++) count[f[2], place(d[p])]++
    }
    if (singles) {
        printf "\nplanted (rows) and diagnosed (columns)\n%-30s", ""
        for (c = 1; c <= names; c++) printf "%4d", c
        print ""
        for (m = 1; m <= singles; m++) {
            printf "%2d %-27s", m, name_of[m]
            for (c = 1; c <= names; c++) printf "%4s", count[name_of[m], c] ? count[name_of[m], c] : "."
            print ""
        }
        for (c = singles + 1; c <= names; c++) printf "%2d %s\n", c, name_of[c]
    }
    for (r = 1; r <= NR; r++) {
        split(rows[r], f, "|")
        cases[f[1]]++
        if (f[3] == "refused") { refused++; continue }
        if (f[2] == f[3]) { right[f[1]]++; continue }
        wrong++
        planted = "+" f[2] "+"; diagnosed = "+" f[3] "+"
        n = split(f[2], d, "+"); for (i = 1; i <= n; i++) if (d[i] != "none" && !index(diagnosed, "+" d[i] "+")) missed++
        n = split(f[3], d, "+"); for (i = 1; i <= n; i++) if (d[i] != "none" && !index(planted, "+" d[i] "+")) alarms++
    }
    print ""
    for (part in cases) printf "%-7s %d of %d right%s\n", part ":", right[part], cases[part] - (part == "pairs" ? refused : 0), part == "pairs" ? ", " refused + 0 " contradict each other" : ""
    printf "missed: %d, false alarms: %d\n", missed, alarms
    exit wrong > 0
}
