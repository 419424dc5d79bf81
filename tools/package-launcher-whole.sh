#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts myxtts from a package that brings everything, its own loader and C library too, so that those of
# this machine need not fit. The programs that myxtts starts, such as players and ffmpeg, run as ever.
here=$(dirname "$(dirname "$(readlink -f "$0")")")
MYXTTS_LAUNCHER=$here/bin/myxtts
export MYXTTS_LAUNCHER
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib" --argv0 myxtts "$here/libexec/myxtts" "$@"
