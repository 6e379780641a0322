#!/bin/sh
# report.sh LOG: requests, bytes, errors, and the address with the most server errors.
exec awk '
/^[0-9]/ {
    requests++
    status = $(NF - 1)
    if ($NF != "-") bytes += $NF
    if (status >= 400) errors[status]++
    if (status >= 500) failures[$1]++
}
END {
    printf "requests %d\nbytes %d\n", requests, bytes
    for (status = 400; status < 600; status++)
        if (status in errors) print status, errors[status]
    for (address in failures)
        if (failures[address] > most || (failures[address] == most && address < worst)) {
            most = failures[address]
            worst = address
        }
    if (most) print "worst", worst, most
}' "$1"
