# Completes ralph in bash. In ~/.bashrc: source <(ralph completion bash)
_ralph_complete() {
  local line kind='' cur="${COMP_WORDS[COMP_CWORD]}"
  [[ $cur == '=' ]] && cur=''
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $kind ]]; then
      kind=$line
    elif [[ ${line%%$'\t'*} == "$cur"* ]]; then
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $kind in
    files | folders)
      compopt -o filenames 2>/dev/null
      local action=-f
      [[ $kind == folders ]] && action=-d
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$action" -- "$cur")
      ;;
  esac
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _ralph_complete ralph rud
