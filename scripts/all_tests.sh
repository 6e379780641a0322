#!/usr/bin/env bash
# Runs all tests, with three workers: on two cores, as one of them usually waits for a process. Their directories are in
# memory if there is room: tests create and remove ten thousands of them and sync files, for which a disk takes longer than
# kaa. Sandboxes have a /dev/shm of their own; what commands in them have to see is in memory too where this is root, who
# can mount a file system that no other process sees.
#
#     scripts/all_tests.sh PYTHON [OPTION...]
set -euo pipefail

if [ "$1" = --in-memory ]; then  # where no other process sees what is mounted
  shift
  mount -t tmpfs -o mode=755 tests "$KAA_TESTS_MEMORY"
  for temporary in /tmp /var/tmp; do  # kaa shows commands what lies there: the less, the faster
    case "$PWD/ $(readlink -f "$1")" in
      "$temporary"/* | *" $temporary"/*) ;;
      *) mount -t tmpfs -o mode=1777 tests "$temporary" ;;
    esac
  done
  exec "$@"
fi

python=$1
shift

room_kilobytes=4000000
in_memory=()
if [ -w /dev/shm ] && [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge "$room_kilobytes" ]; then
  folder=$(mktemp -d /dev/shm/kaa-tests.XXXXXX)
  trap 'rm -rf "$folder"' EXIT
  set -- --basetemp="$folder/tests" "$@"
  if [ "$(id -u)" = 0 ] && [ -w /home ] && unshare --mount true 2>/dev/null; then
    KAA_TESTS_MEMORY=$(mktemp -d /home/.kaa-XXXX)
    export KAA_TESTS_MEMORY
    trap 'rm -rf "$folder"; rmdir "$KAA_TESTS_MEMORY"' EXIT
    in_memory=(unshare --mount --propagation private "$0" --in-memory)
  fi
fi

# Without bytecode of the tests, each worker compiles all of them: 15 s of CPU for each.
unset PYTHONDONTWRITEBYTECODE

# The hands load most of their code when they are confined and can write no bytecode: uncompiled, each start compiles it.
"$python" -m compileall -q src

# A worker keeps to its part of the tests until another has nothing left: it imports less, prepares less, and seldom waits
# for the lock of a group of tests that another is preparing.
"${in_memory[@]}" "$python" -m pytest -n 3 --dist worksteal "$@"
