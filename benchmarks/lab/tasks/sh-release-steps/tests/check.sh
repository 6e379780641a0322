fail() { echo "$1"; exit 1; }
out=$(sh release.sh 2>err.out) || fail "it fails although all is well"
[ "$out" = "$(printf 'building\ntesting\npublishing\nreleased')" ] || fail "printed: $out"
[ "$(cat release.log)" = "$(printf 'building\ntesting\npublishing')" ] || fail "release.log: $(cat release.log)"
printf 'echo testing; echo broken; exit 7\n' >steps/20-test.sh
out=$(sh release.sh 2>err.out); code=$?
[ $code = 7 ] || fail "exit code $code instead of 7"
[ "$out" = "$(printf 'building\ntesting\nbroken')" ] || fail "printed: $out"
[ "$(cat err.out)" = "step 20-test.sh failed" ] || fail "stderr: $(cat err.out)"
[ "$(cat release.log)" = "$(printf 'building\ntesting\nbroken')" ] || fail "release.log: $(cat release.log)"
