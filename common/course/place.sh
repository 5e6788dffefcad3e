# place: puts a file where it was asked for, whole or not at all, for the scripts that source this.
# shellcheck shell=sh disable=SC2034 # $placing is for their traps

# Fails where OUT is there already, also if it came a moment ago (-C), or cannot be written: then nothing of
# ours is there. Who is ended meanwhile takes "$placing" away.
placing=
place() { # FILE OUT
    (set -C && : >"$2") || return 1
    placing=$2
    cat "$1" >"$2" || {
        rm -f "$2"
        placing=
        return 1
    }
    placing=
}
