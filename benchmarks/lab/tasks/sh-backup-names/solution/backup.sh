#!/bin/sh
# backup.sh FROM TO: copies the text files of a folder into another one.
from=$1
to=$2
[ -d "$from" ] || { echo "$from is not a folder" >&2; exit 1; }
mkdir -p -- "$to" || exit 1
count=0
for file in "$from"/*.txt; do
    [ -e "$file" ] || continue
    cp -- "$file" "$to/" || exit 1
    count=$((count + 1))
done
echo "$count files"
