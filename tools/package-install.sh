#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./install.sh [PREFIX]              installs myxtts below the folder PREFIX, by default ~/.local
# ./install.sh --uninstall [PREFIX]  removes it; models, voices and runs stay
#
# It is copied to PREFIX/lib/myxtts; PREFIX/bin and PREFIX/share get links to it. Everything is compared with
# SHA256SUMS first. A version that is there already is replaced.
set -eu
here=$(dirname "$(readlink -f "$0")")

fail() {
  echo "install.sh: $1" >&2
  exit "${2:-1}"
}

uninstall=
if [ "${1:-}" = --uninstall ]; then
  uninstall=yes
  shift
fi
case ${1:-} in
  -*) fail "$1 is not known; type ./install.sh [PREFIX] or ./install.sh --uninstall [PREFIX]." 2 ;;
esac
prefix=${1:-${HOME:?names no folder; type ./install.sh PREFIX}/.local}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
installed=$prefix/lib/myxtts
links=$installed/links  # every link that was made, a path below PREFIX on each line

remove() {
  while read -r link; do
    rm -f "$prefix/$link"
    folder=$(dirname "$prefix/$link")
    while [ "$folder" != "$prefix" ] && rmdir "$folder" 2>/dev/null; do folder=$(dirname "$folder"); done
  done <"$links"
  rm -rf "$installed"
  rmdir "$prefix/lib" "$prefix" 2>/dev/null || true
}

if [ -n "$uninstall" ]; then
  [ -e "$links" ] || fail "there is no myxtts in $prefix; name the folder it was installed to: ./install.sh --uninstall PREFIX."
  remove
  echo "myxtts was removed from $prefix."
  exit
fi

[ "$(uname -sm)" = "Linux x86_64" ] || fail "this package is for Linux on x86-64, and this machine is $(uname -sm)."
(cd "$here" && sha256sum --quiet --check SHA256SUMS) ||
  fail "the files above are not those of the package; fetch it again and unpack it anew."
"$here/bin/myxtts" --version >/dev/null ||
  fail "the program does not start here (the reason is above)."
if [ -e "$installed" ] && [ ! -e "$links" ]; then
  fail "$installed is there, and was not made by install.sh; move it, or give another folder: ./install.sh PREFIX."
fi
if [ ! -e "$links" ] && { [ -e "$prefix/bin/myxtts" ] || [ -L "$prefix/bin/myxtts" ]; }; then
  fail "$prefix/bin/myxtts is there, and was not made by install.sh; move it, or give another folder: ./install.sh PREFIX."
fi

if [ -e "$links" ]; then remove; fi
mkdir -p "$installed"
: >"$links"
cp -R "$here/bin" "$here/lib" "$here/libexec" "$here/licences" "$here/share" "$here/install.sh" "$installed/"

add_link() {
  mkdir -p "$(dirname "$prefix/$1")"
  ln -sfn "$installed/$2" "$prefix/$1"
  echo "$1" >>"$links"
}

add_link bin/myxtts bin/myxtts
(cd "$installed" && find share -type f ! -path 'share/myxtts/*') | while read -r file; do add_link "$file" "$file"; done
echo "myxtts was installed into $prefix; to remove it: $installed/install.sh --uninstall $prefix"
case :$PATH: in
  *":$prefix/bin:"*) ;;
  *) echo "$prefix/bin is not in PATH; type: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
