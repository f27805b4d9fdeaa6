#!/bin/sh
# The front of `ralph hook`, for the hooks of host programs:
#
#   ralph-hook.sh PROGRAM         does nothing while no session, or a session other than this one, has a loop
#   ralph-hook.sh PROGRAM start   always asks Ralph: the hook of a command such as /ralph
#   ralph-hook.sh PROGRAM prompt  the same for a message that begins with /ralph, and like the first for others
#   ralph-hook.sh PROGRAM begin   asks Ralph if any session has a loop: the hook of a session that starts
#
# 1. Without a loop it uses only builtins of the shell: it runs after every turn of every session.
# 2. It passes stdin on as it is. Where it compares stdin, no text of a person becomes part of a command.
# 3. It exits with 0, whatever is missing, and says so if the session has a loop.

program=${1:-claude}
mode=${2:-}
input=

hear() {
  while IFS= read -r line || [ -n "$line" ]; do
    input=$input$line
  done
}

# A pasted block is a message for Claude Code, and no command.
if [ "$mode" = prompt ]; then
  hear
  case $input in
    *'"prompt":"/ralph'*) mode=start ;;
  esac
fi

if [ "$mode" != start ]; then
  if [ -n "${RALPH_STATE:-}" ]; then
    sessions=$RALPH_STATE/sessions
  else
    case ${XDG_STATE_HOME:-} in
      /*) sessions=$XDG_STATE_HOME/ralph/sessions ;;
      *) sessions=${HOME:-}/.local/state/ralph/sessions ;;
    esac
  fi
  found=
  # Claude Code names the session. Other programs may have inherited the name from it.
  if [ "$program $mode" != 'claude begin' ] && [ "$program" = claude ] && [ -n "${CLAUDE_CODE_SESSION_ID:-}" ]; then
    [ -d "$sessions/$CLAUDE_CODE_SESSION_ID" ] || exit 0
  fi
  for session in "$sessions"/*; do
    if [ -d "$session" ]; then
      found=yes
      break
    fi
  done
  [ -n "$found" ] || exit 0
fi

# Node.js reads these certificates whenever it starts, for longer than the hook runs. Ralph sets the variable again for checks.
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  export RALPH_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS"
  unset NODE_EXTRA_CA_CERTS
fi

# Replaces this shell, unless it has read stdin.
ask() {
  [ -n "$input" ] || exec "$@"
  printf '%s\n' "$input" | "$@"
  exit
}

case $0 in
  */*) here=${0%/*} ;;
  *) here=. ;;
esac
main=$here/../../../dist/cli/main.js
if [ -f "$main" ] && command -v node >/dev/null 2>&1; then
  ask node "$main" hook "$program"
fi
found=
# Another package may own the name `ralph`.
ralph=ralph
command -v rud >/dev/null 2>&1 && ralph=rud
if command -v "$ralph" >/dev/null 2>&1; then
  command -v node >/dev/null 2>&1 && ask "$ralph" hook "$program"
  # As a rule it is a script of Node.js.
  [ -n "$input" ] || hear
  answer=$(printf '%s\n' "$input" | "$ralph" hook "$program")
  case $? in
    126 | 127) found=yes ;;
    *)
      printf '%s' "$answer"
      exit 0
      ;;
  esac
fi

if [ -f "$main" ] || [ -n "$found" ]; then
  missing='the command node is not on the PATH. Put Node.js 20.19 or newer there'
else
  missing='the command ralph is not on the PATH. In a clone of its repository run: npm ci && npm run build && npm link'
fi
if [ "$mode" = start ]; then
  printf '%s\n' "{\"decision\":\"block\",\"reason\":\"Ralph cannot run: $missing, then repeat the command.\"}"
  exit 0
fi
[ -n "$input" ] || hear
for session in "$sessions"/*; do
  case $input in
    *'"session_id":"'"${session##*/}"'"'*)
      printf '%s\n' "{\"systemMessage\":\"Ralph loop: not continued: $missing, then type anything to continue the loop.\"}"
      break
      ;;
  esac
done
exit 0
