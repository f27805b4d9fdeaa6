#!/bin/sh
# An agent that follows a plan: call N runs $FAKE_PLAN/N.sh, or default.sh, or nothing. It records its input first, and
# writes the file `end` only if it was not killed.
for last; do :; done
# A request for help is not a call.
[ "$last" = --help ] && exit 0
n=0
[ -e "$FAKE_PLAN/count" ] && read -r n <"$FAKE_PLAN/count"
n=$((n + 1))
echo "$n" >"$FAKE_PLAN/count"
call="$FAKE_PLAN/calls/$n"
mkdir -p "$call"
export FAKE_CALL="$call"
pwd >"$call/cwd"
env >"$call/env"
for argument in "$@"; do printf '%s\n' "$argument"; done >"$call/argv"
printf '%s' "$last" >"$call/last"
cat >"$call/stdin.part"
mv "$call/stdin.part" "$call/stdin"
script="$FAKE_PLAN/$n.sh"
[ -e "$script" ] || script="$FAKE_PLAN/default.sh"
[ -e "$script" ] || script=/dev/null
sh "$script"
code=$?
: >"$call/end"
exit "$code"
