fail() { echo "$1"; exit 1; }
for flag in -Wall -Wextra; do grep -q -e "$flag" Makefile || fail "$flag is gone"; done
for file in area.c circumference.c main.c; do [ -f "$file" ] || fail "$file is gone"; done
grep -q 'circumference(double' circumference.c || fail "circumference has moved"
grep -q 'area(double' area.c || fail "area has moved"
rm -f circle ./*.o
out=$(make circle 2>&1) || fail "$out"
case $out in *warning*) fail "$out";; esac
[ "$(./circle 2)" = "area 12.57, circumference 12.57" ] || fail "printed $(./circle 2)"
[ "$(./circle 1.5)" = "area 7.07, circumference 9.42" ] || fail "printed $(./circle 1.5)"
./circle >/dev/null 2>&1; [ $? = 2 ] || fail "no usage error without arguments"
rm -f circle ./*.o
