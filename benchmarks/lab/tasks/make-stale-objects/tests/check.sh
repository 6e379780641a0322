fail() { echo "$1"; exit 1; }
past() { touch -d '2026-01-01 00:00:00' ./* 2>/dev/null || touch -t 202601010000 ./*; }
build() { make >make.out 2>&1 || fail "make fails: $(cat make.out)"; rm -f make.out; }
make clean >/dev/null || fail "make clean fails"
rm -f names.h
build
[ "$(./hello | tr '\n' ' ')" = "1.0 hello Ada hello Bob " ] || fail "prints $(./hello)"
make -q || fail "make is not content with what it built"
past
echo '#define VERSION "2.0"' >version.h
build
[ "$(./hello | head -n 1)" = 2.0 ] || fail "a new version.h has no effect"
make -q || fail "make is not content after a change of version.h"
past
touch -t 202601010000 ./*; echo Eve >>names.txt
before=$(ls -l --time-style=full-iso main.o 2>/dev/null)
build
./hello | grep -q "hello Eve" || fail "a new names.txt has no effect"
[ "$before" = "$(ls -l --time-style=full-iso main.o 2>/dev/null)" ] || fail "main.o is built although it does not need names.txt"
make -q || fail "make is not content after a change of names.txt"
past
touch greet.h
make -n 2>&1 | grep -q 'main\.c' || fail "a change of greet.h does not rebuild main.o"
make -n 2>&1 | grep -q 'greet\.c' || fail "a change of greet.h does not rebuild greet.o"
make clean >/dev/null || fail "make clean fails"
for name in hello main.o greet.o names.h; do [ ! -e $name ] || fail "make clean leaves $name"; done
