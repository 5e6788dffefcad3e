# flags: of a text's ```sh blocks, which cannot be run here, the flags our programs are given must be flags of theirs.
#
#   awk -f flags.awk HELP TEXT.md     HELP: what all of them print with --help

NR == FNR {
    while (match($0, /--[a-z][a-z0-9-]*/)) {
        known[substr($0, RSTART, RLENGTH)]
        $0 = substr($0, RSTART + RLENGTH)
    }
    next
}
/^```sh$/ { inside = 1; next }
/^```/ { inside = 0; next }
inside && /build\/|ARGS=/ {
    sub(/ #.*/, "")
    sub(/.*(build\/|ARGS=)/, "") # what stands before is another program's
    while (match($0, /--[a-z][a-z0-9-]*/)) {
        flag = substr($0, RSTART, RLENGTH)
        if (!(flag in known)) {
            print FILENAME ":" FNR ": no program here has " flag
            bad = 1
        }
        $0 = substr($0, RSTART + RLENGTH)
    }
}
END { exit bad }
