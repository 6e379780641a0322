#!/usr/bin/env bash
# Tests the reader of commands on the oldest patch release of Python that kaa supports and this machine has.
# Regular expressions are where patch releases differed: 3.11.2, which Debian 12 has, misread possessive groups.
#
#     scripts/oldest_python.sh UV LOCK
set -euo pipefail
uv=$1 lock=$2 venv=.venv-oldest

is_old() {
  "$1" -I -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 11, 5))' 2>/dev/null
}

for python in /usr/bin/python3.11 /usr/bin/python3 /usr/local/bin/python3.11 "$(command -v python3)"; do
  if is_old "$python"; then break; fi
  python=
done
if [ -z "$python" ]; then
  echo "oldest: skipped, no Python between 3.11.0 and 3.11.4 here (on Debian 12: apt-get install python3)"
  exit 0
fi

if ! cmp --silent "$lock" "$venv/lock" || ! is_old "$venv/bin/python"; then
  "$uv" venv --quiet --clear --python "$python" "$venv"
  if ! "$uv" pip sync --quiet --python "$venv/bin/python" --require-hashes "$lock"; then
    echo "oldest: skipped, the packages of the tests could not be installed for $python"
    exit 0
  fi
  cp "$lock" "$venv/lock"
fi
echo "oldest: $("$venv/bin/python" --version)"
PYTHONPATH=src "$venv/bin/python" -m pytest -n 2 -q tests/shell/approvals tests/test_regular_expressions.py
