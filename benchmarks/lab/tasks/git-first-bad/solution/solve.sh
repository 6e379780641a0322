#!/bin/sh
set -e
cat >/tmp/probe.sh <<'END'
[ "$(sh sum.sh 1 2 3)" = 6 ]
END
git bisect start main "$(git rev-list --max-parents=0 main)" >/dev/null
git bisect run sh /tmp/probe.sh >/dev/null
git rev-parse refs/bisect/bad >first-bad
git bisect reset >/dev/null
