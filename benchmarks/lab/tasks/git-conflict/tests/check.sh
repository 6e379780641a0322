fail() { echo "$1"; exit 1; }
[ "$(git rev-list --merges --count main)" = 1 ] || fail "there is not one merge commit"
[ "$(git rev-list --parents -n 1 main | wc -w)" -eq 3 ] || fail "the last commit is no merge"
git merge-base --is-ancestor discount main || fail "discount is not merged"
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "the working tree is not clean"
[ "$(git show main:CHANGELOG)" = "$(printf '0.1 first version\n0.2 round prices\n0.2 discount from 10 pieces on')" ] || fail "the changelog is wrong"
git show main:price.sh >check-price.sh
[ "$(sh check-price.sh 1.115 1)" = 1.11 ] || [ "$(sh check-price.sh 1.115 1)" = 1.12 ] || fail "the price is not rounded"
[ "$(sh check-price.sh 3.333 10)" = 30.00 ] || fail "10 pieces: $(sh check-price.sh 3.333 10)"
[ "$(sh check-price.sh 2 3)" = 6.00 ] || fail "3 pieces: $(sh check-price.sh 2 3)"
rm -f check-price.sh
