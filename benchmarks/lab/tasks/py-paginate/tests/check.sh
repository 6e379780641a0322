work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
i=1
while [ $i -le 25 ]; do echo "note $i" >>"$work/n"; i=$((i + 1)); done
: >"$work/empty"
run() { python3 -B notes.py "$@"; }
expect() { [ "$1" = "$2" ] || { echo "expected: $2"; echo "got: $1"; exit 1; }; }
expect "$(run "$work/n" --page 3 | tr '\n' '|')" "21. note 21|22. note 22|23. note 23|24. note 24|25. note 25|page 3 of 3|"
expect "$(run "$work/n" | tail -n 1)" "page 1 of 3"
expect "$(run "$work/n" | wc -l | tr -d ' ')" 11
expect "$(run "$work/n" --size 5 --page 5 | head -n 1)" "21. note 21"
expect "$(run "$work/empty")" "page 1 of 1"
expect "$(run "$work/n" --page 4 2>&1)" "there is no page 4"
run "$work/n" --page 4 >/dev/null 2>&1; expect $? 1
run "$work/n" --page 4 2>/dev/null | grep -q . && { echo "printed on stdout"; exit 1; }
run "$work/n" --page 0 >/dev/null 2>&1; expect $? 2
run "$work/n" --size 0 >/dev/null 2>&1; expect $? 2
python3 -B -m unittest -q test_notes >/dev/null 2>&1 || { echo "the tests fail"; exit 1; }
