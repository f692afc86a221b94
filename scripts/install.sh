#!/bin/sh
# Installs service-api from a release, on Linux and macOS, without root: --help says how.
#
# A release is checked before it is unpacked, and run before it is put in place. When something fails, everything is
# as it was. All is in functions, and the last line calls them: a script that was cut off on its way does nothing.
set -eu

usage() {
  cat <<EOF
Usage: install.sh [--help]
   or: curl -fsSL $newest/install.sh | sh

Installs service-api under a prefix: bin/service-api, and in share/ its documents and its completions for bash, zsh
and fish. Another version in its place is replaced, also while it runs.

Variables:
  PREFIX                    the prefix; \$HOME/.local by default
  SERVICE_API_DOWNLOAD_URL  where the release is; by default the newest,
                            $newest
  TMPDIR                    where there is room to unpack it; /tmp by default
EOF
}

say() {
  printf 'service-api: %s\n' "$*" >&2
}

fail() {
  say "$@"
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Sets `scheme`. Over plain http anyone on the way could put another file, with its checksum, in place of the real one.
check_url() {
  case $base in
    https://[!/]*)
      scheme=https
      return
      ;;
    http://*)
      scheme=http
      authority=${base#http://}
      case ${authority%%/*} in
        *[!][:.0-9a-z]*) ;;
        127.0.0.1 | 127.0.0.1:* | localhost | localhost:* | \[::1\] | \[::1\]:*)
          unset http_proxy all_proxy ALL_PROXY # nothing leaves this machine
          return
          ;;
      esac
      ;;
  esac
  fail "nothing is downloaded from $base: let SERVICE_API_DOWNLOAD_URL begin with https://" \
    "(plain http is for 127.0.0.1, [::1] and localhost alone)"
}

check_tools() {
  if ! has curl; then
    has wget || fail "curl or wget is needed, and neither is here: install curl"
    # That of BusyBox does not look at certificates.
    wget --version 2>/dev/null | grep -q '^GNU Wget' ||
      fail "curl or GNU wget is needed, and the wget here is another: install curl"
  fi
  has sha256sum || has shasum || has openssl ||
    fail "sha256sum, shasum or openssl is needed to verify the download, and none is here: install coreutils or openssl"
  has tar || fail "tar is needed, and is not here: install it"
}

# Sets `target`, what the executables for this machine are called after.
find_target() {
  system=$(uname -s)
  cpu=$(uname -m)
  case $system in
    Linux) system=unknown-linux-gnu ;;
    Darwin)
      system=apple-darwin
      # A shell for x86_64 on Apple silicon is told that it is on x86_64.
      [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" != 1 ] || cpu=arm64
      ;;
    MINGW* | MSYS* | CYGWIN*) fail "on Windows, run this in PowerShell:  irm $base/install.ps1 | iex" ;;
    *) fail "there is no build for $system: there are those for Linux, macOS and Windows" ;;
  esac
  case $cpu in
    x86_64 | amd64) cpu=x86_64 ;;
    aarch64 | arm64) cpu=aarch64 ;;
    *) fail "there is no build for the CPU $cpu: there are those for x86_64 and aarch64 (arm64)" ;;
  esac
  target=$cpu-$system
  [ "$system" = apple-darwin ] || check_libc
}

# What has neither getconf nor ldd is not told by this, but by the executable, which is run before it is put in place.
check_libc() {
  [ "$(getconf LONG_BIT 2>/dev/null)" != 32 ] ||
    fail "this is a 32-bit system on a 64-bit CPU: there are builds for 64-bit systems alone"
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1) || :
  case $libc in
    *musl*)
      fail "there is no build for musl, the C library of this system (Alpine Linux and others): service-api is made with" \
        "Deno, which there is for glibc alone. Use a system or container image with glibc 2.27 or newer, such as" \
        "debian:stable-slim; layers such as gcompat are not supported"
      ;;
    "glibc 2."? | "glibc 2.1"? | "glibc 2.2"[0-6]*)
      fail "service-api needs glibc 2.27 or newer, and this system has $libc:" \
        "Debian 10, Ubuntu 18.04, RHEL 8 and later have it"
      ;;
  esac
}

# download URL FILE. What stands still for a minute is given up.
download() {
  if has curl; then
    curl --fail --location --globoff --show-error "$progress" --proto "=$scheme" --proto-redir =https \
      --connect-timeout 60 --speed-limit 1 --speed-time 60 --output "$2" "$1"
  elif [ "$scheme" = http ]; then
    wget --no-verbose --timeout=60 --tries=1 --max-redirect=0 --output-document="$2" "$1"
  else
    # wget has no option to stay with https; a proxy that there is not keeps it from anything else.
    http_proxy=http://redirected-from-https-to-http.invalid no_proxy=${https_proxy:+${no_proxy-}} \
      wget --no-verbose --timeout=60 --tries=1 --output-document="$2" "$1"
  fi || fail "$1 could not be downloaded to $tmp"
}

checksum() {
  if has sha256sum; then
    sha256sum
  elif has shasum; then
    shasum -a 256
  else
    openssl dgst -sha256 -r
  fi <"$1" | cut -c 1-64
}

# Sets `folder`, where the files of the release are.
fetch() {
  progress=--silent
  download "$base/SHA256SUMS" "$tmp/SHA256SUMS"
  line=$(LC_ALL=C sed -n \
    "s/^\([0-9a-f]\{64\}\)  \(service-api-[0-9][0-9A-Za-z.+-]*-$target\.tar\.gz\)\$/\1 \2/p" "$tmp/SHA256SUMS") || :
  case $line in
    '') fail "$base/SHA256SUMS has no archive for $target" ;;
    *' '*' '*) fail "$base/SHA256SUMS has more than one archive for $target" ;;
  esac
  archive=${line#* }

  say "downloading $base/$archive"
  [ ! -t 2 ] || progress=--progress-bar
  download "$base/$archive" "$tmp/$archive"
  sum=$(checksum "$tmp/$archive")
  [ "$sum" = "${line% *}" ] ||
    fail "$archive is not what SHA256SUMS says, and has not been used: its SHA-256 is $sum, not ${line% *}"
  tar -xzof "$tmp/$archive" -C "$tmp" ||
    fail "$archive could not be unpacked in $tmp: see to that, or let TMPDIR name another directory"
  folder=$tmp/${archive%.tar.gz}
}

# each_file COMMAND: runs it with every file of the release and its place under the prefix, the executable last.
each_file() {
  "$1" completions/service-api.bash share/bash-completion/completions/service-api
  "$1" completions/_service-api share/zsh/site-functions/_service-api
  "$1" completions/service-api.fish share/fish/vendor_completions.d/service-api.fish
  "$1" LICENSE share/doc/service-api/LICENSE
  "$1" README.md share/doc/service-api/README.md
  "$1" THIRD-PARTY-LICENSES share/doc/service-api/THIRD-PARTY-LICENSES
  "$1" service-api bin/service-api
}

# Makes a directory and those above it, and remembers which were not there.
make_directory() {
  [ ! -d "${1:-/}" ] || return 0
  make_directory "${1%/*}"
  made="$1
$made"
  mkdir "$1" || fail "$1 cannot be made: see to that, or let PREFIX name another directory"
}

cannot_write() {
  fail "$1 cannot be written to: see to that, or let PREFIX name another directory"
}

# Puts a file beside its place, under a temporary name.
stage() {
  goal=$prefix/$2
  [ -f "$folder/$1" ] || fail "there is no $1 in $archive"
  [ ! -d "$goal" ] || fail "$goal is in the way: it is a directory"
  make_directory "${goal%/*}"
  cp "$folder/$1" "$goal.$suffix" || cannot_write "${goal%/*}"
  case $1 in service-api) chmod 755 "$goal.$suffix" ;; *) chmod 644 "$goal.$suffix" ;; esac
}

place() {
  mv -f "$prefix/$2.$suffix" "$prefix/$2" || cannot_write "$prefix/$2"
}

discard() {
  rm -f "$prefix/$2.$suffix" 2>/dev/null || :
}

clean_up() {
  status=$?
  trap '' HUP INT PIPE TERM
  each_file discard
  printf '%s' "$made" | while IFS= read -r directory; do rmdir "$directory" 2>/dev/null || :; done
  rm -rf "$tmp"
  exit "$status"
}

main() {
  newest=https://github.com/service-api/service-api/releases/latest/download
  case $#:${1-} in
    0:) ;;
    1:--help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac

  base=${SERVICE_API_DOWNLOAD_URL:-$newest}
  prefix=${PREFIX:-${HOME:+$HOME/.local}}
  [ -n "$prefix" ] || fail "neither HOME nor PREFIX is set: let PREFIX name a directory to install to"
  case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
  prefix=${prefix%/}
  check_url
  base=${base%/}
  check_tools
  find_target

  tmp=$(mktemp -d "${TMPDIR:-/tmp}/service-api.XXXXXX") ||
    fail "${TMPDIR:-/tmp} cannot be written to: let TMPDIR name another directory"
  suffix=${tmp##*.}
  made=
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 141' PIPE
  trap 'exit 143' TERM

  fetch
  each_file stage
  version=$("$prefix/bin/service-api.$suffix" --version 2>&1 </dev/null) ||
    fail "the executable does not run on this system, and has not been installed: $version"
  trap '' HUP INT TERM
  each_file place

  printf '%s\n' "Installed $version in $prefix/bin"
  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) printf '%s\n' "which is not in your PATH: add  export PATH=\"$prefix/bin:\$PATH\"  to ~/.profile" ;;
  esac
}

main "$@"
