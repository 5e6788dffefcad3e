# commands: of a text, a shell script that runs its commands, and what they are to print.
#
#   awk -v out=FOLDER -f commands.awk TEXT.md     writes FOLDER/run.sh and FOLDER/expected
#
# Run are the commands of ```console blocks, and the code with which a cell begins in the column "command" of tables under
# "Experiments": before that of a long one stands "(minutes)", say, and it is not run. A text has one shell; each block begins at the root. Each command
# is announced by a line "@@ N" in what run.sh prints, and its exit code by "@@ exit CODE"; FOLDER/expected has the
# same "@@ N", the line of the text, the code that is expected, and what the text shows. Before a block may stand
#
#   <!-- texts: cut NAME=VALUE... -->     for this block the environment holds these, so that less is run: what it
#                                         prints is then some of what the text shows
#   <!-- texts: short WORDS => OTHERS --> the same by other words in the command
#   <!-- texts: needs PROGRAM -->         run where there is such a program
#   <!-- texts: times -->                 all numbers are times: only the words are compared
#   <!-- texts: not run: WHY -->          too long for a test

function quote(text) { gsub(/'/, "'\\''", text); return "'" text "'" }

function begin_block() {
    print "cd \"$root\"" > script
    how = next_how
    next_how = ""
    if (how ~ /^cut /)
        print "export " substr(how, 5) > script
    if (how ~ /^short /)
        split(substr(how, 7), shorter, / => /)
    if (how ~ /^needs /)
        print "command -v " substr(how, 7) " >/dev/null || skip=1" > script
    if (how ~ /^not run/)
        print "skip=1" > script
    fenced = 1
}

function end_block(   names, count, i) {
    finish()
    if (how ~ /^cut /) {
        names = substr(how, 5)
        gsub(/=("[^"]*"|[^ ]*)/, "", names)
        print "unset " names > script
    }
    print "skip=" > script
    fenced = 0
    how = ""
}

# The command at hand is whole: `command` in one or several lines, begun at line `at`.
function finish(   code, at_word) {
    if (command == "")
        return
    code = match(command, /# exits with [0-9]+/) ? substr(command, RSTART + 13, RLENGTH - 13) + 0 : 0
    if (how ~ /^short / && (at_word = index(command, shorter[1])))
        command = substr(command, 1, at_word - 1) shorter[2] substr(command, at_word + length(shorter[1]))
    print "echo '@@ " ++number "'; if [ ! \"$skip\" ]; then" > script
    print command > script
    print "echo \"@@ exit $? $SECONDS\"; else echo '@@ skipped'; fi" > script
    print "@@ " number " " FILENAME ":" at " " code " " (how == "" ? "all" : how) "\n" command "\n@@ shows" > expected
    printf "%s", shown > expected
    command = shown = ""
}

function goes_on(line) { return line ~ /\\$/ }

function table_row(   cells, code) {
    split($0, cells, / *[|] */)
    if (!match(cells[3], /^`[^`]*`/))
        return
    code = substr(cells[3], RSTART + 1, RLENGTH - 2)
    if (code !~ /^(make|build\/|for |sh |[A-Z_]+=|\$[A-Z])/)
        return
    how = "row"
    print "cd \"$root\"" > script
    command = code
    at = FNR
    shown = cells[5] "\n"
    finish()
    how = ""
}

BEGIN {
    script = out "/run.sh"
    expected = out "/expected"
    print "root=$PWD skip=" > script
    printf "" > expected
}
/^<!-- texts: .* -->$/ {
    next_how = substr($0, 13, length($0) - 16)
    next
}
/^```console$/ { begin_block(); next }
/^```/ && fenced { end_block(); next }
/^```/ { other = !other; next }
other { next }
fenced && open_command { command = command "\n" $0; open_command = goes_on($0); next }
fenced && /^\$ / {
    finish()
    command = substr($0, 3)
    at = FNR
    open_command = goes_on($0)
    next
}
fenced { shown = shown $0 "\n"; next }
/^## / { experiments = $0 == "## Experiments" }
experiments && /^\|/ { table_row() }
