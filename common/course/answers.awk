# answers: the sheet a student fills in, made of what a lesson's README asks.
#
#   awk -v lesson=02 -f answers.awk README.md > ANSWERS.md
#
# Asked is under three headings: "Predict first" and "Checkpoint questions" hold numbered questions ("1. ...", to the
# next blank line, fence or <details>), all of them may hold tables, whose last column is the student's. Each question becomes
# a heading and the fields that answered.awk looks for.

function fields() {
    if (section == "Predict first")
        return "Predicted:\n\nSeen:\n"
    return "Answer:\n"
}

function close_question() {
    if (question)
        print "\n" fields()
    question = ""
}

# Of a row, all but what stands in the last cell; the rule below the head stays.
function row(line) {
    if (!in_table || line ~ /^\|[-:| ]+$/)
        return line
    sub(/[^|]*\|[ \t]*$/, "  |", line)
    return line
}

function close_table() {
    if (in_table)
        print ""
    in_table = 0
}

BEGIN {
    kind["Predict first"] = "Prediction"
    kind["Experiments"] = "Experiment"
    kind["Checkpoint questions"] = "Question"
    print "# Answers to lesson " lesson + 0
    print ""
    print "Write behind or below each `Predicted:`, `Seen:` and `Answer:`, and into the last column of the tables. A prediction is"
    print "written before the command is run, and stays as it was: wrong ones are worth as much, where `Seen:` says why. Write - where you"
    print "have none. Then commit, and `make handin LESSON=" lesson "`."
    print ""
    print "Name:"
    print ""
}

/^## / {
    close_question()
    close_table()
    section = substr($0, 4)
    if (section in kind)
        print "## " section "\n"
    next
}
!(section in kind) { next }

/^ *```/ { fenced = !fenced; close_question(); next }
/<details>/ { folded = 1; close_question() }
/<\/details>/ { folded = 0; next }
fenced || folded { next }

/^\|/ {
    close_question()
    print row($0)
    in_table = 1
    next
}
{ close_table() }

/^[0-9]+\. / {
    close_question()
    question = $0
    sub(/\..*/, "", question)
    text = $0
    sub(/^[0-9]+\. +/, "", text)
    print "### " kind[section] " " question "\n"
    print text
    next
}
/^ *$/ { close_question(); next }
question {
    sub(/^ +/, "")
    print
}
END {
    close_question()
    close_table()
}
