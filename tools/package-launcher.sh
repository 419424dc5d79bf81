#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts myxtts from an unpacked package: finds LibTorch 2.11 on this machine first.
#
# In this order: LIBTORCH=/path (the folder that holds lib/), a folder libtorch/ in or beside the
# package, LD_LIBRARY_PATH, the torch of python3.
here=$(dirname "$(readlink -f "$0")")/..

use() {
  LD_LIBRARY_PATH=$1/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
  shift
  exec "$here/libexec/myxtts" "$@"
}

# Where the version can be read, it must be ours; libraries alone do not tell it.
fits() {
  [ -e "$1/lib/libtorch_cpu.so" ] || return 1
  for file in "$1/version.py" "$1/build-version"; do
    if [ -e "$file" ]; then grep -q "2\.11\." "$file"; return; fi
  done
}

if [ -n "$LIBTORCH" ]; then
  if fits "$LIBTORCH"; then use "$LIBTORCH" "$@"; fi
  echo "myxtts: LIBTORCH=$LIBTORCH does not hold LibTorch 2.11; give the folder that holds its lib/, or unset LIBTORCH." >&2
  exit 2
fi
for folder in "$here/libtorch" "$here/../libtorch"; do
  if fits "$folder"; then use "$folder" "$@"; fi
done
rest=$LD_LIBRARY_PATH:
while [ -n "$rest" ]; do
  folder=${rest%%:*}
  rest=${rest#*:}
  if [ -n "$folder" ] && [ -e "$folder/libtorch_cpu.so" ]; then exec "$here/libexec/myxtts" "$@"; fi
done
found=$(python3 -c "import importlib.util as u
s = u.find_spec('torch')
print(s.submodule_search_locations[0] if s else '')" 2>/dev/null)
if [ -n "$found" ] && fits "$found"; then use "$found" "$@"; fi
echo "myxtts: LibTorch 2.11 was not found; set LIBTORCH to the folder that holds its lib/, or type: pip install torch==2.11.0" >&2
exit 4
