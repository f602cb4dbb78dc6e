#!/bin/sh
# refusals.sh SERVER STRAGGLERS GOSSIP SLOW_LINKS QUICKSTART LAUNCH
# Whether examples refuse flags that contradict each other, do nothing or cannot be, before they
# write anything: status 2, with the flag, its value and what was expected. In an empty folder.
set -u

server=$1
stragglers=$2
gossip=$3
slow_links=$4
quickstart=$5
launch=$6
failures=0

# refuses WORDS COMMAND...: ends with 2, says WORDS, and leaves no file.
refuses() {
    words=$1
    shift
    said=$("$@" 2>&1)
    status=$?
    left=$(ls)
    case $status:$left:$said in
        2::*"$words"*) ;;
        *)
            printf '%s\nstatus %s, left: %s\n%s\nexpected: %s\n' \
                "$*" "$status" "$left" "$said" "$words" >&2
            failures=$((failures + 1))
            ;;
    esac
}

rm -rf refusals
mkdir -p refusals/empty
cd refusals/empty || exit 1

# What does nothing.
refuses "--bound: is '3'; it has no effect here: it goes with --consistency stale and dynamic" \
    "$server" --bound 3
refuses "--backups: is '1'; it has no effect here: it goes with --consistency bulk" \
    "$server" --backups 1
refuses "--lambda: is '1'; it has no effect here: it goes with --compensator adaptive and constant" \
    "$server" --compensator none --lambda 1
refuses "--density: is '0.1'; it has no effect here: it goes with --compressor dgc" \
    "$server" --density 0.1
refuses "--every: is '5'; it has no effect here: it goes with --checkpoints FOLDER" \
    "$server" --every 5
refuses "--patience: is '5'; it has no effect here: it goes with --survives" "$server" --patience 5
refuses "--survives: it has no effect here: it goes with --transport tcp and simulated" \
    "$server" --survives
refuses "--simulated-flops: is '1e9'; it has no effect here: it goes with --transport simulated" \
    "$server" --simulated-flops 1e9
refuses "--insecure-network: it has no effect here: it goes with --transport tcp" \
    "$server" --insecure-network
refuses "--workers: is '4'; it has no effect here: it goes with --transport in-process and simulated" \
    "$launch" -n 1 "$server" --transport tcp --workers 4
refuses "--workers: is '4'; it has no effect here" "$quickstart" --transport mpi --workers 4
refuses "--rho: is '0.5'; it has no effect here: it goes with --control consensus, exact and phases" \
    "$gossip" --control rounds --rho 0.5
refuses "--every: is '10'; it has no effect here: it goes with --method slow-momentum" \
    "$gossip" --every 10
refuses "--directed: it has no effect here: it goes with --method push-sum and a file" \
    "$gossip" --directed

refuses "--momentum: is '0.5'; it has no effect here: it goes with the methods that take it" \
    "$gossip" --method choco --momentum 0.5
refuses "--scaled-by-gap: it has no effect here: it goes with --control consensus and phases" \
    "$gossip" --control band --scaled-by-gap
refuses "these arguments were not expected: --transport tcp" "$slow_links" --transport tcp

# What contradicts something else.
refuses "--backups: is '3'; a round needs a gradient of at least one of the 3 workers: 0 to 2 were" \
    "$server" --consistency bulk --backups 3
refuses "--backups: is '1'; each of 2 servers would drop the gradients of others" \
    "$server" --consistency bulk --backups 1 --servers 2
refuses "--servers: is '4'; of 4 ranks at most 3 can serve, unless they work too" \
    "$server" --servers 4
refuses "--servers: is '5'; the model has 4 tensors" "$server" --servers 5 --workers 8
refuses "--compensator: is 'gap-aware'; none and adaptive go with --consistency stale" \
    "$server" --consistency stale --compensator gap-aware
refuses "--compensator: is 'adaptive'; none goes with --compressor dgc" \
    "$server" --compressor dgc --compensator adaptive
refuses "--report: is './a'; a file of its own was expected, and --log writes that one" \
    "$server" --log a --report ./a
refuses "--record: is 'r'; --replay is './r', and both are of" "$server" --record r --replay ./r
refuses "--record: is 'r'; --replay is 'r.rank1', and both are of" \
    "$server" --record r --replay r.rank1 --servers 2
refuses "--control: is 'exact'; it asks all ranks, and with --survives some may be missing" \
    "$gossip" --survives --control exact
refuses "--control: is 'consensus'; --method choco has copies of the others, and no estimate" \
    "$gossip" --method choco --control consensus
refuses "--control: is 'band'; --method pairs has no rounds to count" \
    "$gossip" --method pairs --control band
refuses "--maxima: is ''; --control fraction needs the log of a run" "$gossip" --control fraction

# What is out of range, or no number.
for wrong in nan -1 0 1e9 ten ''; do
    refuses "--learning-rate: is '$wrong'; a number above 0, up to 1e+06 was expected" \
        "$server" --learning-rate "$wrong"
    refuses "--simulated-megabits: is '$wrong'; a number from 0.001 to 1e+06 was expected" \
        "$server" --transport simulated --simulated-megabits "$wrong"
done
refuses "--simulated-flops: is 'inf'; a number from 1000 to 1e+18 was expected" \
    "$server" --transport simulated --simulated-flops inf
refuses "--batch-size: is '0'; a number from 1 to" "$server" --batch-size 0
refuses "--patience: is '-1'; a number from 0 to" "$server" --transport simulated --survives --patience -1
refuses "--target: is 'nan'; a number above 0" "$stragglers" --target nan
refuses "--slow: is '0.5'; a number from 1 to" "$stragglers" --slow 0.5
refuses "--rho: is 'nan'; a number above 0" "$gossip" --rho nan
refuses "--lazy: is '2'; a number from 0 to 1" "$gossip" --lazy 2
refuses "--lazy: is '1'; links then do all that they do, as by 0" "$gossip" --lazy 1
refuses "--dirichlet: is '-1'; a number from 0 to" "$gossip" --dirichlet -1
for wrong in -1 1.5 18446744073709551616 ''; do
    refuses "--seed: is '$wrong'; a whole number from 0 to 18446744073709551615 was expected" \
        "$gossip" --seed "$wrong"
done
refuses "--latency: is 'nan'; a number from 0 to" "$slow_links" --latency nan

# What cannot be read or written.
: > ../file
refuses "--replay: is 'none'; a file that can be read was expected: No such file" \
    "$server" --replay none
for flag in --log --report --trace --record; do
    refuses "$flag: is '../file/x'; a file that can be written was expected: Not a directory" \
        "$server" "$flag" ../file/x
done
refuses "--checkpoints: is '../file/x'; a folder was expected" "$server" --checkpoints ../file/x
refuses "--report: is '..'; a file that can be written was expected: it is a folder" \
    "$stragglers" --report ..
refuses "--report: is '../file/x'; a file that can be written" "$slow_links" --report ../file/x
refuses "--report: is '../file/x'; a file that can be written" "$quickstart" --report ../file/x

# What cannot be replaced whole.
mkfifo ../fifo
mknod ../null c 1 3 2> ../mknod || ln -s /dev/null ../null  # not the system's own
for one in "../null it is a device" "../fifo it is a FIFO"; do
    refuses "--report: is '${one%% *}'; a file that can be written was expected: ${one#* }; expected a" \
        "$quickstart" --report "${one%% *}"
done

# What was there is as it was.
echo kept > ../order
refuses "--record: is '../order'; --replay is '../link'" sh -c \
    'ln -sf order ../link && exec "$0" --record ../order --replay ../link' "$server"
[ "$(cat ../order)" = kept ] || failures=$((failures + 1))
[ "$failures" -eq 0 ]
