#!/bin/sh
# backup.sh FROM TO: copies the text files of a folder into another one.
from=$1
to=$2
mkdir -p $to
count=0
cd $from
for file in $(ls *.txt); do
    cp $file $to
    count=$((count + 1))
done
echo "$count files"
