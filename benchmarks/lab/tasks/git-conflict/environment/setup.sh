set -e
git init -q -b main .
git config user.name "Lab"
git config user.email "lab@example.org"
at() { GIT_AUTHOR_DATE="2026-03-01T$1:00 +0000"; GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE; export GIT_AUTHOR_DATE GIT_COMMITTER_DATE; }

at 10:00; git add price.sh CHANGELOG; git commit -qm "Begin"
git checkout -qb discount
cat >price.sh <<'END'
#!/bin/sh
# price.sh PRICE COUNT
awk -v price="$1" -v count="$2" 'BEGIN { total = price * count; if (count >= 10) total *= 0.9; print total }'
END
echo "0.2 discount from 10 pieces on" >>CHANGELOG
at 10:10; git commit -qam "Add a discount"
git checkout -q main
cat >price.sh <<'END'
#!/bin/sh
# price.sh PRICE COUNT
awk -v price="$1" -v count="$2" 'BEGIN { printf "%.2f\n", price * count }'
END
echo "0.2 round prices" >>CHANGELOG
at 10:20; git commit -qam "Round prices"
at 10:30; git merge -q discount >/dev/null 2>&1 || true
