#!/bin/sh
# one_complaint.sh PROGRAM
# PROGRAM's units read a SOTTO_ISA that is unknown, each for itself: one line says so, and all
# answers are given as without it.
set -eu

said=$(SOTTO_ISA=avx9 "$1" both 2>&1)
case "$said" in
    "sotto: SOTTO_ISA is 'avx9', expected "*"; using "*) ;;
    *)
        echo "expected a line that names SOTTO_ISA, found: $said"
        exit 1
        ;;
esac
if [ "$(printf '%s\n' "$said" | wc -l)" -ne 1 ]; then
    echo "expected one line, found:"
    printf '%s\n' "$said"
    exit 1
fi
