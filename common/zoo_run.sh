#!/bin/sh
# zoo_run: runs with and without mistakes of the zoo, for the scripts that source it. They set $build.
#
# WHERE is a lesson: 1, 2, 3, or 4.1 to 4.3 with lesson 4's stage. Flags are words without spaces, and say
# --steps. A flag "--resume" alone asks for two runs into one record: one that saves halfway and one that resumes,
# which alone makes the mistakes of resuming.
# shellcheck shell=sh disable=SC2154,SC2086 # $build is the script's; flags are words

export LC_ALL=C OPENBLAS_NUM_THREADS=1

# One line a member: name, lessons ("2,3,4"), most stage, flags it needs, needs a reference (yes or no), lessons whose
# proof catches it.
zoo_table() {
    "$build/handbook" | sed 's/--resume DIR/--resume/'
}

zoo_rows=$(zoo_table)

zoo_field() { # MEMBER NUMBER: of the table
    echo "$zoo_rows" | awk -F '\t' -v name="$1" -v field="$2" '$1 == name { print $field }'
}

# What no variable of a script may be ends it with a sentence, before any work.
zoo_check_members() { # MEMBER...
    for name; do
        [ "$(zoo_field "$name" 1)" ] || { echo "MEMBERS: no mistake has the name $name; $build/handbook lists them" >&2; exit 2; }
    done
}

zoo_check_numbers() { # VARIABLE LEAST MOST NUMBER...
    name=$1 least=$2 most=$3
    shift 3
    for number; do
        case $number in '' | *[!0-9]* | ??????????*) number=-1 ;; esac
        [ "$number" -ge "$least" ] && [ "$number" -le "$most" ] && continue
        echo "$name: expected a whole number from $least to $most" >&2
        exit 2
    done
}

zoo_places() { # LESSONS STAGE: every WHERE of a member
    for lesson in $(echo "$1" | tr , ' '); do
        [ "$lesson" != 4 ] && echo "$lesson" && continue
        for stage in 1 2 3; do
            [ "$stage" -le "$2" ] && echo "4.$stage"
        done
    done
    true
}

# Functions in parentheses have variables of their own.
zoo_command() ( # WHERE WORLD FLAG...: what to type
    where=$1 world=$2
    shift 2
    case $where in
    1) echo "$build/lesson01_single $*" && return ;;
    2) program=lesson02_allreduce ;;
    3) program=lesson03_ddp ;;
    *) program="lesson04_zero --stage ${where#4.}" ;;
    esac
    echo "$build/launch -n $world $build/$program $*"
)

# The commands of one run, a line each: two where it is to be resumed. MEMBERS may be empty.
zoo_commands() ( # DIR WHERE WORLD MEMBERS FLAG...
    dir=$1 where=$2 world=$3 members=$4
    shift 4
    inject=${members:+--inject $members}
    case " $* " in
    *" --resume "*)
        flags=$(echo " $* " | sed 's/ --resume / /')
        half=$(echo "$flags" | sed 's/.* --steps \([0-9]*\).*/\1/' | awk '{ print int($1 * 0.43) }')
        before=$(echo "$members" | tr , '\n' | grep -v '^resume-' | paste -sd, -)
        zoo_command "$where" "$world" $flags ${before:+--inject $before} --steps "$half" --save "$dir/saved" --record "$dir"
        zoo_command "$where" "$world" $flags $inject --resume "$dir/saved" --record "$dir"
        ;;
    *) zoo_command "$where" "$world" "$@" $inject --record "$dir" ;;
    esac
)

# Runs them. What they print stays in DIR/output; the exit code is that of the first that failed.
zoo_run() ( # DIR WHERE WORLD MEMBERS FLAG...
    mkdir -p "$1" || exit 1
    zoo_commands "$@" >"$1/commands"
    while read -r command; do
        sh -c "$command" >>"$1/output" 2>&1 </dev/null || exit $?
    done <"$1/commands"
)

# The members a doctor named, sorted, with + between; "none", or "?" when it could not tell.
zoo_diagnosis() ( # RECORD [REFERENCE]
    said=$("$build/doctor" "$@" --json 2>/dev/null)
    case $? in
    0 | 4) ;;
    *) echo "?" && return ;;
    esac
    names=$(echo "$said" | grep -o '"member": *"[^"]*"' | sed 's/.*"\([^"]*\)"$/\1/' | sort -u | paste -sd+ -)
    echo "${names:-none}"
)
