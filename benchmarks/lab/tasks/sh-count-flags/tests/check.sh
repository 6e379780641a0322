work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
script=$PWD/count.sh
cd "$work" || exit 1
fail() { echo "$1"; exit 1; }
printf '1\n' >a; printf '1\n2\n3\n' >"b c"; printf '1\n2\n' >d
same() { [ "$1" = "$(printf "$2")" ] || fail "expected $2, got $1"; }
same "$(sh "$script" a 'b c')" '1 a\n3 b c'
same "$(sh "$script" -t a 'b c' d)" '1 a\n3 b c\n2 d\ntotal 6'
same "$(sh "$script" -s a 'b c' d)" '3 b c\n2 d\n1 a'
same "$(sh "$script" -ts a 'b c' d)" '3 b c\n2 d\n1 a\ntotal 6'
same "$(sh "$script" -s -t a d)" '2 d\n1 a\ntotal 3'
case $(sh "$script" -h) in "usage: count.sh"*) ;; *) fail "no usage line";; esac
sh "$script" -h >/dev/null || fail "-h fails"
out=$(sh "$script" -x a 2>/dev/null); code=$?
[ $code = 2 ] && [ -z "$out" ] || fail "-x: exit code $code, printed $out"
case $(sh "$script" -x a 2>&1 >/dev/null) in *"usage: count.sh"*) ;; *) fail "no usage line for -x";; esac
out=$(sh "$script" -t a missing d 2>err); code=$?
same "$out" '1 a\n2 d\ntotal 3'
[ $code = 1 ] && [ -s err ] || fail "a missing file: exit code $code"
