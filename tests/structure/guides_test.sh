#!/bin/sh
# Proves that every rule of guides.sh bites, and none on pages that keep them.

folder=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
mkdir -p "$scratch/include/sotto/core" "$scratch/examples/guides"

cat > "$scratch/include/sotto/core/errors.hpp" << 'CPP'
throw failure("rank " + name + " failed: it said nothing "
              "for " + seconds + " s");
CPP
cat > "$scratch/examples/01_first.cpp" << 'CPP'
app.add_option("--workers", workers);
CPP
cat > "$scratch/examples/transport.cpp" << 'CPP'
app.add_option("--transport", kind);
CPP
cat > "$scratch/examples/guides/own.cpp" << 'CPP'
struct own {
    int size() const;

    void add(int);
};
CPP

# check: the page on standard input, after a link to the one program that there is.
check() {
    { echo '[own.cpp](own.cpp)'; cat; } > "$scratch/examples/guides/page.md"
    said=$(sh "$folder/guides.sh" "$scratch" 2>&1)
}

# bites SENTENCE: the page on standard input is refused with exactly this sentence.
bites() {
    check && failures=$((failures + 1)) && echo "accepted, expected: $1"
    if [ "$said" != "$1" ]; then
        failures=$((failures + 1))
        printf 'expected: %s\ngot:      %s\n' "$1" "$said"
    fi
}

# spares: the page on standard input is accepted.
spares() {
    check || { failures=$((failures + 1)); printf 'expected nothing, got: %s\n' "$said"; }
}

page=examples/guides/page.md
bites "$page:2: links to gone.md, which is not there" << 'MD'
See [this](own.cpp), [that](gone.md).
MD
bites "$page:3: this block is not in examples/guides/own.cpp as it stands" << 'MD'
<!-- own.cpp -->
```cpp
int size() const;
void add(int);
```
MD
bites "$page:3: this block is not in examples/guides/own.cpp as it stands" << 'MD'
<!-- own.cpp -->
```cpp
    void add(long);
```
MD
bites "$page:3: a block of examples/guides/gone.cpp, which is not there" << 'MD'
<!-- gone.cpp -->
```cpp
    void add(int);
```
MD
bites "$page:2: there is no example 'second'" << 'MD'
`examples/run.sh -n 4 second` shows it.
MD
bites "$page:3: first has no flag --worker" << 'MD'
```
sotto_launch -n 4 ./first --transport tcp --worker 3   # --any
```
MD
bites "$page:2: no source says 'failed: it said something for'" << 'MD'
> rank ... failed: it said something for ... s
MD
rm "$scratch/examples/guides/page.md"
said=$(sh "$folder/guides.sh" "$scratch" 2>&1) && failures=$((failures + 1)) && echo 'no pages were accepted'
echo '# A page' > "$scratch/README.md"
said=$(sh "$folder/guides.sh" "$scratch" 2>&1) && failures=$((failures + 1)) && echo 'an orphan was accepted'
[ "$said" = 'examples/guides/own.cpp: no page shows it' ] ||
    { failures=$((failures + 1)); echo "an orphan gave: $said"; }

spares << 'MD'
See [this](own.cpp), [there](https://example.org/gone.md), [below](#below), [back](../../README.md#a-page).
`run([](auto& x) {})`, `examples/run.sh`, `examples/run.sh --help`, `examples/run.sh first --workers 3` and
> rank ... failed: it said nothing for ... s
<!-- own.cpp -->
```cpp
int size() const;

void add(int);
```
```cpp
run([&](auto& transport) { train(transport); });
```
```
export WORKERS=3
SIZE=4 ./first --transport tcp --workers=3 | tee log
```
MD

[ "$failures" -eq 0 ] && echo 'every rule bites'
exit "$failures"
