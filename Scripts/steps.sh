# Sourced by Scripts/test, Scripts/check-all and .ci/run: runs a step and says how long it took.

# step NAME COMMAND…: runs the command, then prints its time; ends the script where the command fails.
step() {
  local name=$1 start=$SECONDS
  shift
  "$@" || { printf 'step %-28s FAILED after %d s\n' "$name" $((SECONDS - start)) >&2; exit 1; }
  printf 'step %-28s %5d s\n' "$name" $((SECONDS - start))
}

# begin NAME COMMAND…: runs the command beside the steps that follow, with the least priority. One at a time.
begin() {
  beside_name=$1 beside_start=$SECONDS beside_log=$(mktemp)
  shift
  setsid nice -n 19 "$@" >"$beside_log" 2>&1 </dev/null &
  beside=$!
  trap 'kill -- -"$beside" 2>/dev/null || true; rm -f "$beside_log"' EXIT
}

# finish: waits for what `begin` has begun; prints its output and its time; ends the script where it fails.
finish() {
  local status=0
  wait "$beside" || status=$?
  cat "$beside_log"
  trap - EXIT
  rm -f "$beside_log"
  [ "$status" -eq 0 ] || { printf 'step %-28s FAILED after %d s\n' "$beside_name" $((SECONDS - beside_start)) >&2; exit 1; }
  printf 'step %-28s %5d s, beside the steps before\n' "$beside_name" $((SECONDS - beside_start))
}

# total NAME LIMIT: prints the time since the script began; says so when it is more than LIMIT seconds.
total() {
  printf 'total %-27s %5d s\n' "$1" "$SECONDS"
  if [ "$SECONDS" -gt "$2" ]; then printf '%s took longer than the %d s meant for a quiet machine\n' "$1" "$2"; fi
}
