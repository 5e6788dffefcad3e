# ratios: the times of rounds, as one Markdown table per world.
#
#   awk -v rows="tcp:ring gloo-again" -v columns="gloo floor" -f ratios.awk TIMES
#
# A line of TIMES: name, world, round, bytes (or what `of` calls it), microseconds. A cell holds, for one size, the ratio of
# the column's time to the row's in the same round: the median over the rounds (least - most).
# Above 1 the row is faster. Of a floor it is percent: how much of what plain sockets carry, of the
# row's own transport, the row carries. Below stand the geometric means of the medians over all sizes.

function sort(values, n,    i, j, value) {
    for (i = 2; i <= n; i++) {
        value = values[i]
        for (j = i - 1; j >= 1 && values[j] > value; j--) values[j + 1] = values[j]
        values[j + 1] = value
    }
}

function middle(sorted, n) {
    return (sorted[int((n + 1) / 2)] + sorted[int(n / 2) + 1]) / 2
}

# One row's own time, the median.
function own(world, row, size,    n, round, times) {
    n = 0
    for (round = 1; round <= rounds[world]; round++)
        if ((row, world, round, size) in us) times[++n] = us[row, world, round, size]
    sort(times, n)
    return n ? sprintf("%.1f", middle(times, n)) : ""
}

function cell(world, row, column, size,    n, round, ratio) {
    n = 0
    if (column ~ /^floor/ && (column ~ /unix/) != (row ~ /^unix/)) return ""
    for (round = 1; round <= rounds[world]; round++)
        if ((row, world, round, size) in us && (column, world, round, size) in us)
            ratio[++n] = us[column, world, round, size] / us[row, world, round, size]
    if (!n) return ""
    sort(ratio, n)
    if (column ~ /^floor/)
        return sprintf("%.0f %% (%.0f-%.0f)", 100 * middle(ratio, n), 100 * ratio[1], 100 * ratio[n])
    logs[row, column] += log(middle(ratio, n))
    sizes_of[row, column]++
    return sprintf("%.2f (%.2f-%.2f)", middle(ratio, n), ratio[1], ratio[n])
}

function mean(row, column,    n) {
    n = sizes_of[row, column]
    return n ? sprintf("%.2f", exp(logs[row, column] / n)) : ""
}

function table(world,    s, r, c) {
    split("", logs)
    split("", sizes_of)
    printf "\n%d rank%s: time of the column / time of the row, median (least-most) of %d rounds\n\n", \
        world, world == 1 ? "" : "s", rounds[world]
    columns_n = 0 # those that ran with this world
    for (c = 1; c in asked; c++) if ((asked[c], world) in ran) column[++columns_n] = asked[c]
    rows_n = 0
    for (r = 1; r in wanted; r++) if ((wanted[r], world) in ran) row[++rows_n] = wanted[r]
    printf "| %s | row | its us |", of
    for (c = 1; c <= columns_n; c++) printf " %s |", column[c]
    printf "\n|--:|:--|--:|"
    for (c = 1; c <= columns_n; c++) printf "--:|"
    print ""
    for (s = 1; s <= sizes; s++)
        for (r = 1; r <= rows_n; r++) {
            printf "| %s | %s | %s |", size[s], row[r], own(world, row[r], size[s])
            for (c = 1; c <= columns_n; c++) printf " %s |", cell(world, row[r], column[c], size[s])
            print ""
        }
    for (r = 1; r <= rows_n; r++) {
        printf "| geometric mean | %s | |", row[r]
        for (c = 1; c <= columns_n; c++) printf " %s |", mean(row[r], column[c])
        print ""
    }
}

BEGIN {
    if (!of) of = "bytes"
    split(rows, wanted, " ")
    split(columns, asked, " ")
}

{
    us[$1, $2, $3, $4] = $5
    ran[$1, $2]
    if (!($2 in known_world)) { known_world[$2]; world[++worlds] = $2 }
    if (!($4 in known_size)) { known_size[$4]; size[++sizes] = $4 }
    if ($3 > rounds[$2]) rounds[$2] = $3
}

END {
    for (w = 1; w <= worlds; w++) table(world[w])
}
