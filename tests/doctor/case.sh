#!/bin/sh
# case: one line of matrix.sh's plan: runs it, asks the doctor, prints what was planted and what was diagnosed.
#
#   sh case.sh BUILD WORK 'FOLDER|PART|MEMBER[+MEMBER] or none|WHERE|WORLD|REFERENCE or no|FLAGS'
#
# It prints PART|PLANTED|DIAGNOSED|FOLDER|REFERENCE. What came out right is removed, but references stay.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$1 work=$2
# shellcheck source=common/zoo_run.sh
. "$here/../../common/zoo_run.sh"

IFS='|' read -r folder part planted where world reference flags <<END
$3
END
members=$(echo "$planted" | tr + ,)
[ "$planted" = none ] && members=
compared=
[ "$part" = proof ] || [ "$reference" = no ] || compared=$work/healthy-$reference

# shellcheck disable=SC2086 # flags are words
zoo_run "$work/$folder" "$where" "$world" "$members" $flags
code=$?
if [ "$part" = healthy ]; then
    [ "$code" = 0 ] || cat "$work/$folder/output" >&2
    exit
fi

if [ "$part" = proof ]; then # a reference is what the table promises here
    case $code in
    0) diagnosed="$planted $where unnoticed" ;;
    3) diagnosed="$planted $where caught" ;;
    *) diagnosed="exit $code" ;;
    esac
    planted="$planted $where $reference" reference=no
elif [ "$code" = 2 ] && [ "$part" = pairs ]; then
    diagnosed=refused
elif [ "$code" != 0 ]; then
    diagnosed="exit $code"
else
    diagnosed=$(zoo_diagnosis "$work/$folder" ${compared:+"$compared"})
fi
[ "$planted" = "$diagnosed" ] && rm -rf "${work:?}/$folder"
echo "$part|$planted|$diagnosed|$folder|$reference"
