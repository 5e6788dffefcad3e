# answered: what a sheet of answers leaves open.
#
#   awk -f answered.awk SHEET ANSWERS.md     SHEET: as answers.awk makes it, empty
#
# Prints a line for each field of SHEET that ANSWERS.md leaves empty, and returns 1; else one line that counts
# them. "-" is an answer: that the student has none.

# The field a line opens; its title is how a complaint names it.
function open_field(label) {
    field = label == "Name" ? label : under ", " label
    if (FILENAME == sheet)
        expected[++fields] = field
}

function take(text) {
    gsub(/[ \t]/, "", text)
    if (FILENAME != sheet)
        filled[field] = filled[field] text
}

# The first cell names a row, the last is the student's.
function read_row(line, cells, count, name) {
    gsub(/\\\|/, "", line)
    sub(/[ \t]*$/, "", line)
    count = split(line, cells, "|")
    name = cells[2]
    gsub(/^ +| +$/, "", name)
    name = part ", row \"" name "\", last column"
    if (FILENAME == sheet)
        expected[++fields] = name
    else
        filled[name] = filled[name] cells[count - 1]
    gsub(/[ \t]/, "", filled[name])
}

FNR == 1 {
    if (!second++)
        sheet = FILENAME
    field = part = under = ""
}
{ sub(/\r$/, "") }
/^## / { part = under = substr($0, 4); field = ""; next }
/^### (Prediction|Experiment|Question) [0-9]+ *$/ { under = $2 " " $3; field = ""; next }
/^\|/ {
    if (++rows > 2)
        read_row($0)
    next
}
{ rows = 0 }
/^(Predicted|Seen|Answer|Name):/ {
    label = $0
    sub(/:.*/, "", label)
    open_field(label)
    sub(/^[A-Za-z]+:/, "")
}
{ take($0) }
END {
    for (i = 1; i <= fields; i++) {
        if (filled[expected[i]] == "" && ++open)
            print "  " expected[i]
        dashes += filled[expected[i]] == "-"
    }
    if (open)
        exit 1
    print fields " field" (fields == 1 ? "" : "s") " filled in" (dashes ? ", " dashes " of them with -" : "")
}
