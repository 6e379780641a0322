set -e
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmp -s ring.h "$tests/ring.h" || { echo "ring.h has changed"; exit 1; }
cc -std=c11 -Wall -Wextra -I. -o "$work/check" "$tests/check.c" ring.c
"$work/check"
