#!/bin/sh
# Makes names.h of names.txt.
{
    echo "static const char *names[] = {"
    sed 's/.*/    "&",/' names.txt
    echo "    0};"
} >names.h
