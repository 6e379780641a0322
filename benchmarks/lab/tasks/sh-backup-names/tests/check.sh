work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
script=$PWD/backup.sh
mkdir "$work/from here" "$work/none"
cd "$work" || exit 1
printf a >"from here/plain.txt"; printf b >"from here/two words.txt"; printf c >"from here/-dash.txt"
printf d >"from here/star*.txt"; printf e >"from here/other.md"
fail() { echo "$1"; exit 1; }
out=$(sh "$script" "from here" "to there") || fail "it failed: $out"
[ "$out" = "4 files" ] || fail "printed $out"
for name in plain.txt "two words.txt" -dash.txt "star*.txt"; do
    cmp -s "from here/$name" "to there/$name" || fail "$name was not copied"
done
[ ! -e "to there/other.md" ] || fail "other.md was copied"
out=$(sh "$script" none "$work/absolute") || fail "it failed without files"
[ "$out" = "0 files" ] || fail "printed $out without files"
sh "$script" "$work/missing" "$work/x" >/dev/null 2>&1 && fail "it succeeds with a folder that does not exist"
exit 0
