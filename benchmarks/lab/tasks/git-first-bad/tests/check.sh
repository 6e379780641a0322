fail() { echo "$1"; exit 1; }
[ -f first-bad ] || fail "there is no file first-bad"
[ "$(git symbolic-ref --short HEAD)" = main ] || fail "main is not checked out"
[ "$(git rev-list --count main)" = 30 ] || fail "the history was changed"
bad=$(git log --format='%H %s' main | grep ' Tidy up$' | cut -d' ' -f1)
[ "$(tr -d '[:space:]' <first-bad)" = "$bad" ] || fail "$(cat first-bad) is not the first bad commit"
