# Shared by the scripts of the house: sourced, never run.
# shellcheck shell=bash

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"
# Without its caches each Ray process would compile all of Ray again, seconds of CPU each.
unset PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm_config_fund=false npm_config_audit=false
export npm_config_update_notifier=false

say() { printf '==> %s\n' "$*"; }

# die WHAT [FOUND EXPECTED DO]: what is wrong, then how to mend it.
die() {
  printf 'raydebug: %s\n' "$1" >&2
  shift
  local line
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

need_python() {
  PYTHON="${PYTHON:-python3}"
  local found
  command -v "$PYTHON" >/dev/null || die "no Python." "found: no '$PYTHON' on PATH" "expected: Python 3.10 or later" \
    "do: install it (Debian: apt-get install python3 python3-venv), or set PYTHON to one"
  found="$("$PYTHON" -c 'import platform; print(platform.python_version())')" || die "'$PYTHON' does not run."
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "Python is too old." "found: $found" \
    "expected: 3.10 or later" "do: install a newer one, or set PYTHON to it (PYTHON=python3.12 npm run setup)"
  "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || die "Python cannot make environments." \
    "found: Python $found without venv and ensurepip" "expected: both" "do: Debian: apt-get install python3-venv"
  PYTHON_VERSION="$found"
}

need_node() {
  local found major minor
  command -v node >/dev/null && command -v npm >/dev/null || die "no Node.js." "found: no node and npm on PATH" \
    "expected: Node.js 20.19 or later with npm" "do: install it from nodejs.org or your distribution"
  found="$(node -p process.versions.node)"
  IFS=. read -r major minor _ <<<"$found"
  if ((major < 20 || (major == 20 && minor < 19))); then
    die "Node.js is too old." "found: $found" "expected: 20.19 or later" "do: install a newer one"
  fi
  NODE_VERSION="$found"
}

# fingerprint PATH...: one hash over the names and contents of files and folders (build products aside).
fingerprint() {
  local path
  (cd "$ROOT" && for path in "$@"; do
    [[ -e $path ]] || continue
    find "$path" \( -name node_modules -o -name dist -o -name __pycache__ -o -name '*.tsbuildinfo' \) -prune -o -type f -print0
  done | LC_ALL=C sort -z | xargs -0 -r sha256sum | sha256sum | cut -d' ' -f1)
}

# fresh STAMP VALUE: was this step done for exactly this value?
fresh() { [[ -f $1 && "$(<"$1")" == "$2" ]]; }

# make_env DIR LOCK: an environment with torch first, then the lock. Quick when nothing changed.
#   ENV_PYTHON   the interpreter (default: PYTHON)      NO_TORCH=1   leave torch out
#   ENV_RAY      another version of Ray than the lock's
make_env() {
  local dir="$1" lock="$2" python="${ENV_PYTHON:-$PYTHON}" torch stamp value
  stamp="$dir/.raydebug-$(basename "$lock")"
  value="$(fingerprint requirements) ${NO_TORCH:-} ${ENV_RAY:-} $("$python" -c 'import sys; print(sys.version)')"
  if fresh "$stamp" "$value" && "$dir/bin/python" -c '' 2>/dev/null; then return; fi
  say "$(basename "$dir"): Python environment ($("$python" -c 'import platform; print(platform.python_version())'))"
  "$dir/bin/python" -c '' 2>/dev/null || "$python" -m venv --clear "$dir"
  if [[ -z ${NO_TORCH:-} ]]; then
    torch="$(sed -n 's/^\(torch==[^ ;]*\).*/\1/p' "$ROOT/requirements/run.lock")"
    say "$(basename "$dir"): $torch (before all else: asking for a range of versions may bring gigabytes of CUDA)"
    quiet_pip "$dir" -c "$ROOT/requirements/run.lock" "$torch"
  fi
  say "$(basename "$dir"): the packages of $lock${ENV_RAY:+, with Ray $ENV_RAY}"
  locked "$lock" | grep -v '^torch==' | sed -E "${ENV_RAY:+s/^ray==[^ ;]*/ray==$ENV_RAY/}" >"$dir/.raydebug-requirements"
  quiet_pip "$dir" --no-deps -r "$dir/.raydebug-requirements"
  printf '%s' "$value" >"$stamp"
}

# locked LOCK: its lines, those it builds on included.
locked() {
  local line
  while read -r line; do
    if [[ $line == "-r "* ]]; then locked "requirements/${line#-r }"; else printf '%s\n' "$line"; fi
  done <"$ROOT/$1"
}

# build_front_end: into backend/raydebug/static. Quick when nothing changed.
build_front_end() {
  local stamp="$ROOT/frontend/node_modules/.raydebug-built" value
  value="$(fingerprint frontend)"
  if fresh "$stamp" "$value" && [[ -f $ROOT/backend/raydebug/static/index.html ]]; then return; fi
  say "front end: build"
  (cd "$ROOT/frontend" && npm run --silent build </dev/null)
  printf '%s' "$value" >"$stamp"
}

# install_project DIR: raydebug itself, editable, and its page in that environment's Ray. The front end is built before,
# so the build hook leaves it alone.
install_project() {
  local dir="$1" stamp="$1/.raydebug-project" value
  value="$(fingerprint pyproject.toml scripts/hatch_build.py backend/raydebug/plugin/ray_module.py)"
  if fresh "$stamp" "$value"; then return; fi
  say "$(basename "$dir"): raydebug itself"
  quiet_pip "$dir" --no-deps --no-build-isolation -e "$ROOT"
  # As pip leaves it for users: debugpy never writes its own bytecode, and without it each first breakpoint of a worker
  # compiles all of pydevd twice (1.1 s until Ray tells anybody, 0.7 s with it).
  "$dir/bin/python" -c 'import compileall, importlib.util as u; compileall.compile_dir(u.find_spec("debugpy").submodule_search_locations[0], quiet=2)'
  "$dir/bin/raydebug" install-plugin </dev/null >/dev/null
  printf '%s' "$value" >"$stamp"
}

quiet_pip() {
  local dir="$1"
  shift
  "$dir/bin/python" -m pip install -qq --no-input --no-compile "$@" </dev/null
}

# npm_ci FOLDER: its packages as locked. Quick when nothing changed.
npm_ci() {
  local dir="$1" stamp="$ROOT/$1/node_modules/.raydebug-stamp" value
  value="$(fingerprint "$dir/package-lock.json" "$dir/package.json") $NODE_VERSION"
  if fresh "$stamp" "$value"; then return; fi
  say "$dir: npm packages"
  (cd "$ROOT/$dir" && npm ci --silent --no-progress </dev/null)
  printf '%s' "$value" >"$stamp"
}

# find_chromium: prints the path of a browser, or fails.
find_chromium() {
  local name
  if [[ -n ${CHROMIUM_PATH:-} ]]; then
    [[ -x $CHROMIUM_PATH ]] && printf '%s\n' "$CHROMIUM_PATH"
    return
  fi
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" && return
  done
  return 1
}

# apt_install PACKAGE...: as root on Debian; fails quietly elsewhere.
apt_install() {
  [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null || return 1
  say "apt-get install $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq </dev/null >/dev/null && apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
}

# --- parts and their results (read by scripts/summary.py) ---

# open_results: a folder for results; a caller's is shared, so that the last summary is the sum of all.
open_results() {
  if [[ -n ${RAYDEBUG_RESULTS:-} ]]; then return; fi
  RAYDEBUG_RESULTS="$(mktemp -d -t raydebug-results.XXXXXX)"
  export RAYDEBUG_RESULTS
  # shellcheck disable=SC2064
  trap "rm -rf '$RAYDEBUG_RESULTS'" EXIT
}

# part NAME COMMAND...: run it, note how it ended and how long it took. Never fails: the summary does.
part() {
  local name="$1" start rc=0
  shift
  start="$(date +%s.%N)"
  say "$name"
  "$@" </dev/null || rc=$?
  printf '%s %s %s\n' "$start" "$(date +%s.%N)" "$rc" >"$RAYDEBUG_RESULTS/$name.part"
}

# not_run NAME WHY: listed as not run, never as passed.
not_run() {
  printf '==> %s: NOT RUN: %s\n' "$1" "$2"
  printf '%s' "$2" >"$RAYDEBUG_RESULTS/$1.notrun"
}

# has_tests FOLDER
has_tests() { [[ -n "$(find "$1" \( -name 'test_*.py' -o -name '*.spec.ts' \) -print -quit 2>/dev/null)" ]]; }

# pytest_part NAME ARGUMENT...: pytest with a report for the summary.
pytest_part() {
  local name="$1"
  shift
  part "$name" "${PYTEST_PYTHON:-$VENV/bin/python}" -m pytest -q --junit-xml="$RAYDEBUG_RESULTS/$name.xml" "$@"
}

summary() { "$PYTHON" "$ROOT/scripts/summary.py" "$RAYDEBUG_RESULTS" "$@"; }
