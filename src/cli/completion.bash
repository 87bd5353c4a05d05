# completion.bash - completion of heapwright's commands, options, choices and files in bash
#
# Sourced by bash-completion as share/bash-completion/completions/heapwright. The words are taken from the tool's help
# each time, so that there is no second list that could differ.

_heapwright_options() # of command $1: one per line, with its value
{
  "${COMP_WORDS[0]}" help "$1" 2>/dev/null | sed -n 's/^ \{2,6\}\(-[[:alnum:]], \)\?\(--[a-z][a-z-]*[^ ]*\)\( [^ ]\+\)\?.*/\2\3/p'
}

_heapwright_choices() # of option $2 of command $1
{
  _heapwright_options "$1" | sed -n "s/^$2\(\[=\| \)\([a-z]\+|[a-z|]*\).*/\2/p" | tr '|' ' '
}

_heapwright()
{
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} option= i
  COMPREPLY=()
  if ((COMP_CWORD == 1)) || [[ $command == help ]]; then
    ((COMP_CWORD <= 2)) || return
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  \([a-z]\+\)  .*/\1/p')" -- "$word"))
    ((COMP_CWORD > 1)) || COMPREPLY+=($(compgen -W "help --help --version" -- "$word"))
    return
  fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]] && declare -F _command_offset >/dev/null; then
      _command_offset $((i + 1)) # the words of a command to record are its own
      return
    fi
  done
  if [[ $word == "=" ]]; then # bash splits --by=stack into three words
    option=$before word=
  elif [[ $before == "=" ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $before == --* ]]; then
    option=$before
  fi
  local choices=
  [[ $option == --* ]] && choices=$(_heapwright_choices "$command" "$option")
  if [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_heapwright_options "$command" | sed 's/[[ ].*//')" -- "$word"))
  elif [[ $command == @(record|run) && $before != -* || $command == @(record|run|live) && $before == -- ]]; then
    compopt -o default
    COMPREPLY=($(compgen -c -- "$word"))
  else
    compopt -o default # a trace, or the file of an option
  fi
}

complete -F _heapwright heapwright
