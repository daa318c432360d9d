# fish completion of codexlag
function __codexlag_complete
    set -l line (commandline -opc) (commandline -ct)
    set -l program $line[1]
    set -l word $line[-1]
    for fits in (command $program __complete -- $line[2..-1] 2>/dev/null)
        if test "$fits" = :files
            # Files behind --flag= as well.
            set -l flag (string match -r -- '^--[^=]*=' $word)
            for file in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' $word))
                echo "$flag$file"
            end
        else
            echo $fits
        end
    end
end
complete -c codexlag -f -a '(__codexlag_complete)'
