#!/bin/sh
# compdb: compile_commands.json on stdout, so that an editor compiles as `make` does.
#
#   COMMAND="cc -I. ..." sh common/compdb.sh FILE...
set -eu

printf '%s\n' "$@" | FOLDER=$(pwd) awk '
    function json(text) {
        gsub(/\\/, "\\\\", text)
        gsub(/"/, "\\\"", text)
        return "\"" text "\""
    }
    BEGIN { printf "[" }
    {
        printf "%s\n{\"directory\": %s, \"file\": %s, \"command\": %s}", (NR > 1) ? "," : "",
            json(ENVIRON["FOLDER"]), json($0), json(ENVIRON["COMMAND"] " -c " $0)
    }
    END { print "\n]" }'
