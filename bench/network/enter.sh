#!/bin/sh
# enter.sh ADDRESS COMMAND...
# What ssh is between machines, between the namespaces of namespaces.py: Open MPI starts its ranks
# with it. SOTTO_NAMESPACES holds ADDRESS=PID of a process in each.
set -eu

address=$1
shift
for entry in $SOTTO_NAMESPACES; do
    case $entry in
        "$address="*) exec nsenter --target "${entry#*=}" --net --uts sh -c "$*" ;;
    esac
done
echo "enter.sh: no namespace has the address $address: $SOTTO_NAMESPACES" >&2
exit 1
