#!/bin/sh
set -e
{
    echo "# What the scripts share."
    echo
    sed -n '/^log()/,/^}/p' start.sh
} >lib.sh
for script in start.sh stop.sh status.sh; do
    sed '/^log()/,/^}/c\
. "$(dirname "$0")/lib.sh"' "$script" >new
    cat new >"$script"
done
rm new
