# SPDX-License-Identifier: MIT
# Completion of pysample for fish: install it as /usr/share/fish/vendor_completions.d/pysample.fish.
#
# The options are those that --help of the command names, so that this file does not have to be kept up with them.

set -g __pysample_commands record top agent dump doctor replay crosscheck report diff

function __pysample_command
    set -l words (commandline -opc)
    if set -q words[2]; and contains -- $words[2] $__pysample_commands
        echo $words[2]
    else
        echo record
    end
end

# A program to launch follows a lone "--".
function __pysample_launches
    contains -- -- (commandline -opc)
end

# From lines such as "  -p, --pid PID   the process": "-p<tab>the process" and "--pid<tab>the process".
function __pysample_options
    command pysample (__pysample_command) --help 2>/dev/null |
        string replace -rf '^ {2,6}((?:-\w, )?--[a-z-]+)(?:\[?=?[^ ]*)(?: [A-Z]+)? +(.*)$' '$1\t$2' |
        while read -l -d \t names text
            for name in (string split ', ' -- $names)
                printf '%s\t%s\n' $name $text
            end
        end
end

function __pysample_pids
    for folder in /proc/[0-9]*
        set -l exe (path resolve $folder/exe 2>/dev/null)
        if string match -qri python -- (path basename $exe)
            printf '%s\t%s\n' (path basename $folder) (string join ' ' (string split0 <$folder/cmdline 2>/dev/null))
        end
    end
end

function __pysample_previous_is
    contains -- (commandline -opc)[-1] $argv
end

complete -c pysample -n __pysample_launches -xa '(__fish_complete_subcommand)'
complete -c pysample -n 'not __pysample_launches; and test (count (commandline -opc)) = 1' -fa "$__pysample_commands"
complete -c pysample -n 'not __pysample_launches; and string match -q -- "-*" (commandline -ct)' -fa '(__pysample_options)'
complete -c pysample -n '__pysample_previous_is -p --pid' -fa '(__pysample_pids)'
