#!/bin/sh
# The hook of Codex for every message: asks Ralph only if the message may be one of its commands.
#
# 1. For other messages it uses only builtins of the shell.
# 2. The message is compared and passed on as it is; it is never part of a command.
# 3. It exits with 0, whatever is missing.

input=
while IFS= read -r line || [ -n "$line" ]; do
  input=$input$line
done

case $input in
  *'"prompt"'*ralph*)
    case $0 in
      */*) here=${0%/*} ;;
      *) here=. ;;
    esac
    printf '%s\n' "$input" | sh "$here/ralph-hook.sh" codex start
    ;;
esac
exit 0
