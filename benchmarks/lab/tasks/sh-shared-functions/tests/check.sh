fail() { echo "$1"; exit 1; }
here=$PWD
[ -f lib.sh ] || fail "there is no lib.sh"
[ "$(cat -- *.sh | grep -c '^ *log *()')" = 1 ] || fail "log is not defined once"
[ "$(cat -- *.sh | grep -c 'basename')" -le 1 ] || fail "log is still repeated"
for name in start stop status; do grep -q 'lib\.sh' "$name.sh" || fail "$name.sh does not use lib.sh"; done
cd / || exit 1
out=$(sh "$here/start.sh" web) || fail "start.sh fails"
[ "$out" = "$(printf '[start] info: starting web\n[start] info: started')" ] || fail "start.sh printed $out"
sh "$here/start.sh" broken >/dev/null; [ $? = 3 ] || fail "start.sh broken does not exit with 3"
[ "$(sh "$here/stop.sh")" = "[stop] info: stopping service" ] || fail "stop.sh differs"
[ "$(sh "$here/status.sh" a b)" = "$(printf '[status] info: a is fine\n[status] debug: arguments: 2')" ] || fail "status.sh differs"
