#!/bin/sh
# Fetches the Debian programs that tests and proofs need, and unpacks them into FOLDER: nothing is installed into
# the system, nothing needs root.   Usage: tools/debian_tools.sh FOLDER
set -eu

PACKAGES="spin faketime libfaketime fiu-utils libfiu0"
folder=$1

for each in spin faketime fiu-run; do command -v $each >/dev/null || missing=yes; done
[ "${missing-}" ] || exit 0

for each in apt-get dpkg; do
    command -v $each >/dev/null && continue
    echo "makegood's tests check models with spin, and bend clocks and disks with faketime and fiu-run." >&2
    echo "They come from Debian's packages, and there is no $each here to fetch them with." >&2
    echo "Install spin, faketime and libfiu (fiu-run) by other means, on PATH; then run make again." >&2
    exit 1
done

echo "Unpacking $PACKAGES into $folder ..."
mkdir -p "$folder"
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
mkdir -p "$fetched/lists/partial"
cd "$folder"
apt() { apt-get -qq -o Dir::State::lists="$fetched/lists" -o Dir::Cache="$fetched" -o APT::Sandbox::User=root "$@"; }
apt update
(cd "$fetched" && apt download $PACKAGES)
for each in "$fetched"/*.deb; do dpkg -x "$each" .; done
