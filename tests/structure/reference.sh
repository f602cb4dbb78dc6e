#!/bin/sh
# reference.sh DOXYFILE FOLDER DOXYGEN PYTHON
# The reference can be made without a warning, and every public entity is in it with words. DOXYFILE writes to FOLDER.
set -u

# Others warn of other things, and of settings that they do not have any more.
version=$("$3" --version) || exit 1
case $version in
    1.9.*) ;;
    *)
        echo "skipped: the reference is checked with doxygen 1.9, and this is $version"
        exit 0
        ;;
esac

# Links of pages are looked for in the folder at hand first.
folder=$(cd "$(dirname "$0")" && pwd)
rm -rf "$2"
mkdir -p "$2"
cd "$2" || exit 1
if ! "$3" "$1"; then
    echo "doxygen has complaints; an entity without words is to be given some, see CONTRIBUTING.md"
    exit 1
fi
exec "$4" -B "$folder/reference.py" "$2/xml"
