set -e
node "$(dirname "$0")/check.js"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(node app.js "$work/data" a 1)" = "$work/data has 1 entries" ]
[ "$(node app.js "$work/data" b 2)" = "$work/data has 2 entries" ]
[ "$(cat "$work/data")" = '{"a":"1","b":"2"}' ]
echo '{' >"$work/data"
if node app.js "$work/data" c 3 2>"$work/err"; then echo "no error for broken data"; exit 1; fi
grep -q "^cannot update $work/data: " "$work/err"
