# For scripts to source: long commands show that they are alive.

# Takes the output of a command from standard input. Lines that match the regular expression $1 say how far the command is: one
# of them is printed every five seconds, the last one again when there is none. All other lines are printed as they come, or,
# when $2 is `quiet`, not at all.
show_progress() {
  local line last="" shown=$SECONDS began=$SECONDS code
  while true; do
    code=0
    IFS= read -r -t 5 line || code=$?
    if ((code > 0 && code <= 128)); then
      break
    elif ((code == 0)) && [[ $line =~ $1 ]]; then
      last=$line
    elif ((code == 0)) && [[ ${2:-} != quiet ]]; then
      printf '%s\n' "$line"
    fi
    if ((SECONDS - shown >= 5)) && [[ -n $last ]]; then
      printf '%4d s: %s\n' $((SECONDS - began)) "${last:0:90}"
      shown=$SECONDS
    fi
  done
}

# "about 3 minutes", of seconds.
about() {
  local seconds=$1
  if ((seconds < 90)); then
    echo "about $(((seconds + 9) / 10 * 10)) seconds"
  else
    echo "about $(((seconds + 30) / 60)) minutes"
  fi
}
