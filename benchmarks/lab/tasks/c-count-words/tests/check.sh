fail() { echo "$1"; exit 1; }
rm -f count
out=$(make count 2>&1) || fail "$out"
case $out in *warning*) fail "$out";; esac
text='one two\n\n  three\tfour \nfive'
expect() { want=$1; shift; got=$(printf "$text" | ./count "$@"); [ "$got" = "$want" ] || fail "count $*: $got instead of $want"; }
expect 3
expect 3 -l
expect 5 -w
expect 27 -c
expect "5 27" -wc
expect "5 27" -c -w
expect "3 5 27" -lwc
expect "3 27" -c -l
[ "$(printf '' | ./count -lwc)" = "0 0 0" ] || fail "empty input"
[ "$(printf '\377\000 x' | ./count -wc)" = "2 4" ] || fail "bytes that are no text"
printf x | ./count -x >/dev/null 2>err.out; [ $? = 2 ] || fail "-x does not exit with 2"
[ "$(cat err.out)" = "usage: count [-clw]" ] || fail "-x says $(cat err.out)"
rm -f err.out count
