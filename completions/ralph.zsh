#compdef ralph rud
# Completes ralph in zsh. In ~/.zshrc, after compinit: source <(ralph completion zsh)
_ralph() {
  local -a lines found ended
  local kind line value
  lines=("${(@f)$("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  kind=$lines[1]
  case $kind in
    files | folders)
      compset -P '--*='
      [[ $kind == folders ]] && _files -/ || _files
      ;;
    words)
      for line in "${(@)lines[2,-1]}"; do
        value=${line%%$'\t'*}
        if [[ $value == *= ]]; then
          ended+=("$value")
        else
          found+=("${value//:/\\:}:${line#*$'\t'}")
        fi
      done
      _describe -t words ralph found
      (( $#ended )) && compadd -S '' -- "${(@)ended}"
      ;;
  esac
}
if [[ $funcstack[1] == _ralph ]]; then _ralph "$@"; else compdef _ralph ralph rud; fi
