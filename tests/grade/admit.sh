#!/bin/sh
# admit: may a file of a hand-in be linked into the grader?
#
#   sh tests/grade/admit.sh FILE OBJECT OFFICIAL DEPENDENCIES      OFFICIAL: the object of this tree's FILE
#
# It shares a process with the checks, so it must be what it stands for, and no more: the functions that the
# solution's file shows, all of them (for a missing one the library's would be taken) and no others (for a
# function of the checks or of the system another would be taken); nothing that runs before main; no file of this
# tree but headers. And it calls nothing that ends another process, starts one, or reads a file or the
# environment (who ends its own loses the check: runner.c). Exit code 1: a sentence says why not.
#
# This stops what is cheap to do, not a program that is made to deceive: see docs/instructor.md.
set -u
export LC_ALL=C

file=$1 object=$2 official=$3 dependencies=$4

refuse() { # SENTENCE
    echo "grade: $file $1" >&2
    exit 1
}

shown() { nm -g "$1" | awk 'NF == 3 { print ($2 == "i" ? "i:" : "") $3 }' | sort; }
called() { nm -g "$1" | awk 'NF == 2 { print $2 }' | sort; }
# With their sizes: a sanitizer's has one such section in each file.
early() { objdump -h "$1" | awk '$2 ~ /^[.](init|fini|ctors|dtors|preinit)|mod_(init|term)_func/ { print $2, $3 }' | sort; }

# How this grading looks after other processes, where the seed lies, and what else no task is about.
forbidden='at_quick_exit|atexit|on_exit|__cxa_atexit'
forbidden="$forbidden|kill|killpg|raise|tgkill|pthread_kill|uv_kill|uv_process_kill|ptrace|process_vm_(read|write)v|getppid"
forbidden="$forbidden|v?fork|_Fork|forkpty|daemon|_?clone3?|exec[vl]p?e?|execvpe|posix_spawnp?|system|popen|uv_spawn|dlsym|dlopen|syscall"
forbidden="$forbidden|getenv|secure_getenv|uv_os_getenv|uv_os_environ|setenv|unsetenv|putenv|_*environ|program_invocation_name"
forbidden="$forbidden|open(at)?(64)?|creat(64)?|f(re|d)?open(64)?|uv_fs_.*|mmap(64)?|mprotect|dup[23]?|__?sig(setjmp|longjmp).*|longjmp|signal|sigaction"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
shown "$object" >"$work/shown"
shown "$official" >"$work/shows"
missing=$(comm -13 "$work/shown" "$work/shows" | head -n 1)
more=$(comm -23 "$work/shown" "$work/shows" | head -n 1)
[ -z "$missing" ] || refuse "has no function $missing, which the rest of the tree calls: put it back, as in the starter"
[ -z "$more" ] || refuse "shows $more to other files: make it static, as all that is added to a file"
[ "$(early "$object")" = "$(early "$official")" ] ||
    refuse "has code that runs before main or after it: no task needs a constructor"

called "$object" >"$work/called"
called "$official" >"$work/calls"
more=$(comm -23 "$work/called" "$work/calls" | grep -xE "_?($forbidden)" | tr '\n' ' ')
[ -z "$more" ] || refuse "calls ${more}which no task needs: take it out"

# Those of a make rule, one a line; a blank within a name is written "\ ".
sed 's/\\ /_/g; s/\\$//' "$dependencies" | tr -s ' ' '\n' | sed -n '3,$p' | sed 's|^[.]/||' >"$work/files"
more=$(grep -vE '[.]h$' "$work/files" | grep . | head -n 1)
[ -z "$more" ] || refuse "includes $more: only headers may be included"
more=$(grep -E '(^|/)tests/|_inside[.]h$' "$work/files" | head -n 1)
[ -z "$more" ] || refuse "includes $more, which is not for tasks to look into"
