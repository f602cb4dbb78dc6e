#!/bin/sh
# same_on_every_transport.sh SOTTO_LAUNCH QUICKSTART NAMESPACES TLS [MPIRUN]
# Whether the quickstart learns the same, to the last bit, from threads and from processes: of this
# machine, and, by bench/network/namespaces.py, started one by one in network namespaces, each a
# machine of its own to them. TLS: whether it was built with OpenSSL, ON or OFF.
set -eu

launch=$1
quickstart=$2
namespaces=$3
tls=$4
mpirun=${5:-}

# digests NAME COMMAND...: runs it, and prints the line of its output that has the digests.
digests() {
    name=$1
    shift
    if ! "$@" > "$name.out" 2> "$name.err"; then
        cat "$name.out" "$name.err" >&2
        echo "$name: '$*' failed" >&2
        exit 1
    fi
    grep -h -o 'digests of the parameters.*' "$name.out" || {
        cat "$name.out" >&2
        echo "$name: '$*' printed no digests" >&2
        exit 1
    }
}

# compare NAME COMMAND...
compare() {
    found=$(digests "$@")
    if [ "$found" != "$expected" ]; then
        printf 'in-process: %s\n%s: %s\n' "$expected" "$1" "$found" >&2
        exit 1
    fi
    echo "$1: $found"
}

expected=$(digests in-process "$quickstart" --quick --transport in-process --workers 4)
compare tcp "$launch" -n 4 "$quickstart" --quick --transport tcp
if [ "$tls" = ON ]; then
    rm -f job.secret
    (umask 077 && head -c 32 /dev/urandom > job.secret)
    compare tcp-secret "$launch" -n 4 "$quickstart" --quick --transport tcp --secret job.secret
fi
if python3 "$namespaces" --ranks 2 -- true 2> namespaces.err; then
    compare namespaces python3 "$namespaces" --ranks 4 -- \
        "$quickstart" --quick --transport tcp --insecure-network
    if [ "$tls" = ON ]; then
        compare namespaces-secret python3 "$namespaces" --ranks 4 -- \
            "$quickstart" --quick --transport tcp --secret job.secret
    fi
    # Without either, no rank goes beyond loopback.
    if python3 "$namespaces" --ranks 4 -- "$quickstart" --quick --transport tcp \
        > refused.out 2> refused.err || ! grep -q 'which other machines can reach' refused.err; then
        cat refused.out refused.err >&2
        echo "namespaces: neither secret nor --insecure-network, and that is not what it said" >&2
        exit 1
    fi
else
    echo "namespaces: skipped, none can be made here: $(tail -n 1 namespaces.err)"
fi
if [ -n "$mpirun" ]; then
    # Open MPI and its launcher want to be told that root may, and that there are few processors.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    compare mpi "$mpirun" -n 4 "$quickstart" --quick --transport mpi
fi
