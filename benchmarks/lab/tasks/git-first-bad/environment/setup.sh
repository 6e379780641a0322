set -e
git init -q -b main .
git config user.name "Lab"
git config user.email "lab@example.org"
at() { GIT_AUTHOR_DATE="2026-03-01T$1:00 +0000"; GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE; export GIT_AUTHOR_DATE GIT_COMMITTER_DATE; }

cat >sum.sh <<'END'
total=0
for number in "$@"; do total=$((total + number)); done
echo $total
END
at 08:00; git add sum.sh; git commit -qm "Begin"
i=1
while [ $i -le 29 ]; do
    echo "entry $i" >>journal
    message="Entry $i"
    if [ $i = 17 ]; then
        cat >sum.sh <<'END'
total=0
while [ $# -gt 1 ]; do total=$((total + $1)); shift; done
echo $total
END
        message="Tidy up"
    fi
    if [ $i = 23 ]; then echo "# adds up numbers" >>sum.sh; fi
    at "09:$(printf %02d $i)"; git add journal sum.sh; git commit -qm "$message"
    i=$((i + 1))
done
