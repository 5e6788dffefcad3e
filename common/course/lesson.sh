# lesson: of "2" or "02", the lesson's number in two digits and its folder, for the scripts that source this.
# shellcheck shell=sh disable=SC2034 # $lesson and $folder are for them

# Sets $lesson and $folder, or 1.
lesson_find() { # NUMBER
    case ${1#0} in [1-4]) lesson=0${1#0} ;; *) return 1 ;; esac
    folder=$(echo "lesson$lesson"_*)
    [ -f "$folder/README.md" ]
}
