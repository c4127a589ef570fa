# Sourced by the tools: where things are, steps that tell their time, totals of test runners.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LOGS=$ROOT/build/logs
VENV=$ROOT/build/venv
JOBS=$(nproc)
mkdir -p "$LOGS"

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# told NAME SINCE_MS: the one line of a step that ended.
told() {
  local ms=$(($(now_ms) - $2))
  printf '%-44s %5d.%d s\n' "$1" $((ms / 1000)) $((ms % 1000 / 100))
}

# step NAME COMMAND...: runs it quietly; its output goes to a log, of which a failure shows the end.
step() {
  local name=$1 began status=0 log
  shift
  began=$(now_ms)
  log=$LOGS/${name//[^A-Za-z0-9]/_}.log
  "$@" </dev/null >"$log" 2>&1 || status=$?
  if ((status)); then
    tail -n 60 "$log" >&2
    echo "$name failed (exit $status): the whole output is in $log" >&2
  fi
  told "$name" "$began"
  return "$status"
}

# shown NAME COMMAND...: the same, with the output on the screen too.
shown() {
  local name=$1 began status=0 log
  shift
  began=$(now_ms)
  log=$LOGS/${name//[^A-Za-z0-9]/_}.log
  "$@" </dev/null 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
  told "$name" "$began"
  return "$status"
}

# build PRESET [CMAKE_ARGUMENT...] [-- TARGET...]: configures and builds build/PRESET.
build() {
  local preset=$1 arguments=()
  shift
  while (($#)) && [[ $1 != -- ]]; do
    arguments+=("$1")
    shift
  done
  shift || true
  if command -v ccache >/dev/null; then
    export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1
    arguments+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  step "configure $preset" cmake --preset "$preset" "${arguments[@]}" || return
  step "build $preset" cmake --build --preset "$preset" -j "$JOBS" ${1:+--target "$@"}
}

# tally LOG...: "passed failed skipped" over the closing lines of ctest and pytest in the logs.
tally() {
  awk '
    /^[0-9]+% tests passed(, [0-9]+ tests? failed)? out of [0-9]+/ {
      bad = $3 == "passed," ? $4 : 0  # not said by every release when there is none
      failed += bad
      for (i = 1; i < NF; i++) if ($i == "of") passed += $(i + 1) - bad
      next
    }
    /^(=+ )?[0-9]+ (passed|failed|errors?|skipped|deselected|xfailed|xpassed).* in [0-9.]+s/ {
      for (i = 2; i <= NF; i++) {
        n = $(i - 1)
        if ($i ~ /^passed/) passed += n
        if ($i ~ /^(failed|errors?)/) failed += n
        if ($i ~ /^skipped/) skipped += n
      }
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$@"
}
