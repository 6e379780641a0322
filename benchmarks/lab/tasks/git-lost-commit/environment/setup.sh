set -e
git init -q -b main .
git config user.name "Lab"
git config user.email "lab@example.org"
at() { GIT_AUTHOR_DATE="2026-03-01T$1:00 +0000"; GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE; export GIT_AUTHOR_DATE GIT_COMMITTER_DATE; }

at 10:00; git add README.md; git commit -qm "Begin"
at 10:05; echo "some idea" >draft.txt; git add draft.txt; git commit -qm "Add a draft"
at 10:06; git reset -q --hard HEAD~1
at 10:10; printf 'tea 4\nmilk 2\ncake 5\n' >prices.txt; git add prices.txt; git commit -qm "Add the new prices"
at 11:00; git reset -q --hard HEAD~1
at 11:10; echo "9 to 5" >hours.txt; git add hours.txt; git commit -qm "Add the opening hours"
