#!/bin/sh
# test.sh SOTTO_LAUNCH
# Whether the program places ranks, hands on what they print, and returns what became of them.
set -u

launch=$1
failures=0

# returns STATUS OUTPUT COMMAND...: runs it; the lines of its output come in any order.
returns() {
    status=$1
    output=$2
    shift 2
    said=$("$@" 2> /dev/null)
    got=$?
    said=$(printf '%s\n' "$said" | sort)
    if [ "$got" -ne "$status" ] || [ "$said" != "$output" ]; then
        printf '%s\nstatus %s, expected %s\n%s\nexpected\n%s\n' \
            "$*" "$got" "$status" "$said" "$output" >&2
        failures=$((failures + 1))
    fi
}

# shellcheck disable=SC2016  # the ranks' variables
returns 0 '[0] 0 of 2 at 127.0.0.1
[1] 1 of 2 at 127.0.0.1' \
    "$launch" -n 2 sh -c 'echo "$SOTTO_RANK of $SOTTO_SIZE at $SOTTO_ADDRESS"'
# shellcheck disable=SC2016
returns 7 '' "$launch" -n 3 --grace 0 sh -c 'test "$SOTTO_RANK" != 1 || exit 7'
returns 143 '' "$launch" -n 1 sh -c 'kill -TERM $$'
returns 2 '' "$launch" -n 0 true
# The cause of a failure: not a rank that ended because of another.
# shellcheck disable=SC2016
returns 2 '' "$launch" -n 3 sh -c 'case $SOTTO_RANK in 1) sleep 0.2; exit 2;; *) exit 3;; esac'
returns 3 '' "$launch" -n 2 sh -c 'exit 3'
# However it was started.
returns 7 '' sh -c '"$0" -n 2 sh -c "exit 7" <&- >&- 2>&-' "$launch"
returns 7 '' sh -c 'trap "" CHLD; exec "$0" -n 2 sh -c "exit 7"' "$launch"
returns 2 '' "$launch" -n 1 no-such-program-here
returns 2 '' "$launch" -n 1 /etc/passwd
for words in '2      usage: ' '3      another rank or the network'; do
    case $("$launch" --help) in
        *"$words"*) ;;
        *) echo "--help does not have: $words" >&2 && failures=$((failures + 1)) ;;
    esac
done
# What places ranks of several machines is not overridden unheard.
returns 2 '' env SOTTO_SIZE=4 "$launch" -n 2 true
returns 2 '' env SOTTO_ADDRESS=10.0.0.1 "$launch" -n 2 true
returns 0 '' env SOTTO_SIZE= SOTTO_PORT=29501 "$launch" -n 2 true
returns 0 '' "$launch" -n 1 "$launch" -n 2 true
returns 2 '' "$launch" -n 2
for wrong in -1 86401 1e9 inf nan 5s ''; do
    returns 2 '' "$launch" -n 1 --grace "$wrong" true
done
returns 2 '' "$launch" -n 1 --grace
returns 0 '' "$launch" -n 1 --grace 0.5 true
# Who gets which signal, and when.
told=$("$launch" -n 2 --grace 0 sh -c 'test "$SOTTO_RANK" = 1 && exit 7; trap "" TERM; sleep 60' 2>&1)
for words in 'rank 1 ended with exit status 7; waiting for rank 0, SIGTERM in 0 s' \
    'SIGTERM to rank 0, after 0 s; SIGKILL in 0 s to who is then left' 'killed: rank 0'; do
    case $told in
        *"$words"*) ;;
        *)
            printf '%s\nwas said; expected: %s\n' "$told" "$words" >&2
            failures=$((failures + 1))
            ;;
    esac
done
# Who keeps going, and how the one that was lost comes again.
# shellcheck disable=SC2016
returns 137 '[1] done' "$launch" -n 2 --grace 0 --keep-going \
    sh -c 'test "$SOTTO_RANK" = 0 && kill -KILL $$; sleep 0.3; echo done'
# shellcheck disable=SC2016
told=$("$launch" -n 2 --keep-going sh -c 'test "$SOTTO_RANK" = 0 && kill -KILL $$; sleep 1' 2>&1)
case $told in
    *'rank 0 was ended by signal 9 (Killed); left: rank 1. The same command with SOTTO_RANK=0 SOTTO_SIZE=2 SOTTO_ADDRESS=127.0.0.1 SOTTO_PORT='*' SOTTO_JOB_NAME=sotto-'*' starts it again'*) ;;
    *)
        printf '%s\nwas said\n' "$told" >&2
        failures=$((failures + 1))
        ;;
esac
# A name that was given is kept, and quoted where a shell needs it.
# shellcheck disable=SC2016
returns 0 '[0] my job' "$launch" -n 1 --job 'my job' sh -c 'echo "$SOTTO_JOB_NAME"'
# shellcheck disable=SC2016
returns 0 '[0] nightly' env SOTTO_JOB_NAME=nightly "$launch" -n 1 sh -c 'echo "$SOTTO_JOB_NAME"'
returns 2 '' "$launch" -n 1 --job '' true
returns 2 '' "$launch" -n 1 --job "$(printf '%0257d' 0)" true
# shellcheck disable=SC2016
told=$("$launch" -n 2 --keep-going --job 'my job' \
    sh -c 'test "$SOTTO_RANK" = 0 && kill -KILL $$; sleep 1' 2>&1)
case $told in
    *" SOTTO_JOB_NAME='my job' starts it again"*) ;;
    *)
        printf '%s\nwas said\n' "$told" >&2
        failures=$((failures + 1))
        ;;
esac
[ "$failures" -eq 0 ]
