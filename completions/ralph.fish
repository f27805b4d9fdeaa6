# Completes ralph in fish. In ~/.config/fish/config.fish: ralph completion fish | source
function __ralph_complete
    set -l current (commandline -ct)
    set -l typed (commandline -opc)
    set -l lines (command $typed[1] complete -- $typed[2..-1] "$current" 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current" ''
        case '*'
            printf '%s\n' $lines[2..-1]
    end
end
complete -c ralph -f -a '(__ralph_complete)'
complete -c rud -f -a '(__ralph_complete)'
