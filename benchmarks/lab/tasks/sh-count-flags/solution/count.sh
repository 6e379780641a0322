#!/bin/sh
# count.sh [-hst] FILE...: how many lines each file has.
usage="usage: count.sh [-hst] FILE..."
total= sorted= code=0
while getopts :hst option; do
    case $option in
        h) echo "$usage"; exit 0 ;;
        s) sorted=1 ;;
        t) total=1 ;;
        *) echo "$usage" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
lines= sum=0
for file in "$@"; do
    if [ ! -f "$file" ] || [ ! -r "$file" ]; then
        echo "count.sh: cannot read $file" >&2
        code=1
        continue
    fi
    count=$(wc -l <"$file" | tr -d ' ')
    sum=$((sum + count))
    lines="$lines$count $file
"
done
if [ "$sorted" ]; then
    printf %s "$lines" | sort -k1,1nr
else
    printf %s "$lines"
fi
[ -z "$total" ] || echo "total $sum"
exit $code
