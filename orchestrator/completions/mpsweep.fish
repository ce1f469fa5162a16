# Completion of mpsweep's command lines in fish, which asks the program for the candidates.

function __mpsweep_candidates
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l word (commandline -ct)
    set -l option ''
    if string match -qr -- '^--[^=]*=' "$word"
        set option (string replace -r -- '=.*' '=' "$word")
    end
    for line in ($program completion -- $words "$word" 2>/dev/null)
        switch $line
            case :files
                printf "$option%s\n" (__fish_complete_path (string replace -- "$option" '' "$word"))
            case :directories
                printf "$option%s\n" (__fish_complete_directories (string replace -- "$option" '' "$word"))
            case :commands
                complete -C "$word"
            case '*'
                echo -- $option$line
        end
    end
end

complete -c mpsweep -f -a '(__mpsweep_candidates)'
