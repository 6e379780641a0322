fail() { echo "$1"; exit 1; }
grep -q '"type": *"module"' package.json || fail "package.json has changed"
ls | grep -q '\.[cm]js$' && fail "there is a file with another extension"
out=$(node index.js 2>&1) || fail "$out"
[ "$out" = "index.js: Bonjour, Ada!" ] || fail "printed $out"
cd / || exit 1
here=$OLDPWD
out=$(node --input-type=module -e "
import { greet } from 'file://$here/index.js';
if (greet('Bob') !== 'Bonjour, Bob!' || greet('Bob', 'xx') !== 'Hello, Bob!') process.exit(3);") || fail "import fails: $out"
[ -z "$out" ] || fail "importing prints $out"
