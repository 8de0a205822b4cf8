# Sourced by Scripts/test, Scripts/check-all and .ci/run: runs a step and says how long it took.

# step NAME COMMAND…: runs the command, then prints its time; ends the script where the command fails.
step() {
  local name=$1 start=$SECONDS log status=0
  shift
  log=$(mktemp)
  "$@" 2>&1 | tee "$log" || status=$?
  [ "$status" -eq 0 ] || failed "$name" "$log" $((SECONDS - start))
  rm -f "$log"
  printf 'step %-28s %5d s\n' "$name" $((SECONDS - start))
}

# failed NAME LOG SECONDS: prints once more what the log of a step says of failures, since thousands of lines may have come after
# them and whoever reads a log of CI often has only its end; ends the script.
failed() {
  {
    echo "--- failures in the step \"$1\" ---"
    grep -aE '✘|↳|: (fatal )?error:|Fatal error|FAILED' "$2" | grep -aEv 'passed after|known issue' | cut -c 1-400 | tail -n 60 || true
    printf 'step %-28s FAILED after %d s\n' "$1" "$3"
  } >&2
  rm -f "$2"
  exit 1
}

# What `begin` has begun and `finish` has not yet waited for, by its name.
declare -A beside_process beside_log beside_start

# begin NAME COMMAND…: runs the command beside the steps that follow, with less priority than theirs.
begin() {
  local name=$1
  shift
  beside_start[$name]=$SECONDS
  beside_log[$name]=$(mktemp)
  # Its log ends with the time that it took, which may be less than until `finish`.
  setsid nice -n 5 bash -c '
    start=$SECONDS
    status=0
    "$@" || status=$?
    echo "ended after $((SECONDS - start)) s"
    exit $status' begin "$@" >"${beside_log[$name]}" 2>&1 </dev/null &
  beside_process[$name]=$!
  trap end_beside EXIT
}

# Ends what still runs beside the script, when it ends early.
end_beside() {
  local name
  for name in "${!beside_process[@]}"; do
    kill -- "-${beside_process[$name]}" 2>/dev/null || true
    rm -f "${beside_log[$name]}"
  done
}

# finish NAME: waits for what `begin` has begun under this name; prints its output and its time; ends the script where it fails.
finish() {
  local name=$1 status=0 log=${beside_log[$1]} took
  wait "${beside_process[$name]}" || status=$?
  cat "$log"
  took=$(tail -n 1 "$log" | sed -n 's/^ended after \([0-9]*\) s$/\1/p')
  unset "beside_process[$name]" "beside_log[$name]"
  [ "$status" -eq 0 ] || failed "$name" "$log" "${took:-0}"
  rm -f "$log"
  printf 'step %-28s %5d s, beside other steps; %d s until here\n' "$name" "${took:-0}" $((SECONDS - beside_start[$name]))
}

# total NAME LIMIT: prints the time since the script began; says so when it is more than LIMIT seconds.
total() {
  printf 'total %-27s %5d s\n' "$1" "$SECONDS"
  if [ "$SECONDS" -gt "$2" ]; then printf '%s took longer than the %d s meant for a quiet machine\n' "$1" "$2"; fi
}
