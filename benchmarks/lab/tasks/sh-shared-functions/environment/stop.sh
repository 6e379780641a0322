#!/bin/sh
# Stops the service.

log() {
    level=$1
    shift
    printf '[%s] %s: %s\n' "$(basename "$0" .sh)" "$level" "$*"
}

log info "stopping ${1:-service}"
