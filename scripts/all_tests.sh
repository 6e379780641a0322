#!/usr/bin/env bash
# Runs all tests, with two workers. Their directories are in memory if there is room: tests create and remove ten thousands
# of them and sync files, for which a disk takes longer than kaa.
#
#     scripts/all_tests.sh PYTHON [OPTION...]
set -euo pipefail
python=$1
shift

room_kilobytes=4000000
if [ -w /dev/shm ] && [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge "$room_kilobytes" ]; then
  folder=$(mktemp -d /dev/shm/kaa-tests.XXXXXX)
  trap 'rm -rf "$folder"' EXIT
  set -- --basetemp="$folder/tests" "$@"
fi

# The hands load most of their code when they are confined and can write no bytecode: uncompiled, each start compiles it.
"$python" -m compileall -q src

# A worker keeps to one half of the tests until the other has nothing left: it imports less, prepares less, and seldom waits
# for the lock of a group of tests that the other is preparing.
"$python" -m pytest -n 2 --dist worksteal "$@"
