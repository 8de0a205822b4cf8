# Sourced by Scripts/test, Scripts/check-all and .ci/run: runs a step and says how long it took.

# step NAME COMMAND…: runs the command, then prints its time; ends the script where the command fails.
step() {
  local name=$1 start=$SECONDS
  shift
  "$@" || { printf 'step %-28s FAILED after %d s\n' "$name" $((SECONDS - start)) >&2; exit 1; }
  printf 'step %-28s %5d s\n' "$name" $((SECONDS - start))
}

# total NAME LIMIT: prints the time since the script began; says so when it is more than LIMIT seconds.
total() {
  printf 'total %-27s %5d s\n' "$1" "$SECONDS"
  if [ "$SECONDS" -gt "$2" ]; then printf '%s took longer than the %d s meant for a quiet machine\n' "$1" "$2"; fi
}
