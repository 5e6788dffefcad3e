# flags: of a text's blocks, which may not be run here, the flags our programs are given must be flags of theirs; and no command
# stands in a block that does not say whether it can run: ```console or ```sh.
#
#   awk -f flags.awk HELP TEXT.md     HELP: what all of them print with --help

NR == FNR {
    while (match($0, /--[a-z][a-z0-9-]*/)) {
        known[substr($0, RSTART, RLENGTH)]
        $0 = substr($0, RSTART + RLENGTH)
    }
    next
}
/^```/ { inside = !inside; unnamed = $0 == "```"; next }
inside && unnamed && /^ *\$ / {
    print FILENAME ":" FNR ": a command in a block that is neither console nor sh"
    bad = 1
}
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
