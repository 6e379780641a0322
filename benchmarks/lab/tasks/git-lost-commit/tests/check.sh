fail() { echo "$1"; exit 1; }
[ "$(git symbolic-ref --short HEAD)" = main ] || fail "main is not checked out"
[ "$(git show main:prices.txt)" = "$(printf 'tea 4\nmilk 2\ncake 5')" ] || fail "prices.txt is not as it was"
[ "$(git show main:hours.txt)" = "9 to 5" ] || fail "hours.txt was lost"
git show main:draft.txt >/dev/null 2>&1 && fail "the draft was brought back, too"
git log --format=%s main | grep -qx "Add the new prices" || fail "the commit is not on main"
git log --format=%s main | grep -qx "Add the opening hours" || fail "a later commit was lost"
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "the working tree is not clean"
