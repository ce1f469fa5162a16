#!/bin/sh
# Makes ./configure from configure.ac; needed once in a fresh clone.
set -eu
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all,no-portability
