fail() { echo "$1"; exit 1; }
[ -f report.sh ] || fail "there is no report.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/log" <<'END'
10.0.0.9 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 500 10
# rotated
10.0.0.2 - - [01/Jan/2026:00:00:01 +0000] "GET /a HTTP/1.1" 503 5
10.0.0.9 - - [01/Jan/2026:00:00:02 +0000] "GET / HTTP/1.1" 301 -
10.0.0.2 - - [01/Jan/2026:00:00:03 +0000] "POST / HTTP/1.1" 404 7

10.0.0.3 - - [01/Jan/2026:00:00:04 +0000] "GET / HTTP/1.1" 200 1000000
END
out=$(sh report.sh "$work/log") || fail "it fails"
want=$(printf 'requests 5\nbytes 1000022\n404 1\n500 1\n503 1\nworst 10.0.0.2 1')
[ "$out" = "$want" ] || fail "printed: $out"
printf '10.0.0.1 - - [x y] "GET / HTTP/1.1" 200 3\n' >"$work/good"
out=$(sh report.sh "$work/good") || fail "it fails without errors"
[ "$out" = "$(printf 'requests 1\nbytes 3')" ] || fail "without errors: $out"
out=$(sh report.sh access.log) || fail "it fails on access.log"
want=$(awk '/^[0-9]/ { n++; s = $(NF-1); if ($NF != "-") b += $NF; if (s >= 400) c[s]++; if (s >= 500) w[$1]++ }
    END { print "requests " n; printf "bytes %d\n", b
    for (s = 400; s < 600; s++) if (s in c) print s " " c[s]
    for (a in w) if (w[a] > m || (w[a] == m && a < best)) { m = w[a]; best = a }
    if (m) print "worst " best " " m }' access.log)
[ "$out" = "$want" ] || fail "access.log: $out instead of $want"
