#!/bin/sh
# Installs service-api from a release on Linux and macOS, without root. --help prints the usage.
#
# The script verifies the archive's checksum before it unpacks the archive. It runs the new executable once before it
# replaces any installed file. If a step before the replacement fails, the script removes the files and directories
# that it created. Only the last line starts the installation, so a truncated copy of this script does nothing.
set -eu

usage() {
  cat <<EOF
Usage: install.sh [--help]
   or: curl -fsSL $newest/install.sh | sh

Installs service-api: the executable in PREFIX/bin; the documentation, the man pages and the completions for bash, zsh
and fish in PREFIX/share. Replaces an installed version, even while it is running.

Environment variables:
  PREFIX                    the directory to install to (default: \$HOME/.local)
  SERVICE_API_DOWNLOAD_URL  the URL of the directory with SHA256SUMS and the
                            archives (default: the latest release,
                            $newest)
  TMPDIR                    the directory for temporary files (default: /tmp)
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

# Sets `scheme`. Rejects http:// to other machines, because an attacker on the network could replace both the archive
# and its checksum.
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
          unset http_proxy all_proxy ALL_PROXY # keep the request on this machine
          return
          ;;
      esac
      ;;
  esac
  fail "Cannot download from $base. Set SERVICE_API_DOWNLOAD_URL to an https:// URL." \
    "http:// is allowed only for 127.0.0.1, [::1] and localhost."
}

check_tools() {
  if ! has curl; then
    has wget || fail "curl or wget is required, but neither is installed. Install curl."
    # The wget of BusyBox does not verify certificates.
    wget --version 2>/dev/null | grep -q '^GNU Wget' ||
      fail "curl or GNU wget is required, but the installed wget is not GNU wget. Install curl."
  fi
  has sha256sum || has shasum || has openssl ||
    fail "sha256sum, shasum or openssl is required to verify the download, but none is installed. Install coreutils."
  has tar || fail "tar is required, but it is not installed. Install tar."
}

# Sets `target` to the target triple of this machine.
find_target() {
  system=$(uname -s)
  cpu=$(uname -m)
  case $system in
    Linux) system=unknown-linux-gnu ;;
    Darwin)
      system=apple-darwin
      # Under Rosetta, uname reports x86_64 on Apple silicon.
      [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" != 1 ] || cpu=arm64
      ;;
    MINGW* | MSYS* | CYGWIN*) fail "On Windows, run this command in PowerShell:  irm $base/install.ps1 | iex" ;;
    *) fail "There is no build for $system. There are builds for Linux, macOS and Windows." ;;
  esac
  case $cpu in
    x86_64 | amd64) cpu=x86_64 ;;
    aarch64 | arm64) cpu=aarch64 ;;
    *) fail "There is no build for the CPU $cpu. There are builds for x86_64 and aarch64 (arm64)." ;;
  esac
  target=$cpu-$system
  [ "$system" = apple-darwin ] || check_libc
}

# A system without getconf and ldd passes this check. On such a system, the trial run of the executable fails if the C
# library is not supported.
check_libc() {
  [ "$(getconf LONG_BIT 2>/dev/null)" != 32 ] ||
    fail "This is a 32-bit system on a 64-bit CPU. There are builds for 64-bit systems only."
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1) || :
  case $libc in
    *musl*)
      fail "This system uses the musl C library, as Alpine Linux does. There is no build for musl, because" \
        "Deno requires glibc. Use a system or container image with glibc 2.27 or newer, for example" \
        "debian:stable-slim." \
        "Compatibility layers like gcompat are not supported."
      ;;
    "glibc 2."? | "glibc 2.1"? | "glibc 2.2"[0-6]*)
      fail "service-api requires glibc 2.27 or newer, but this system has $libc." \
        "Debian 10, Ubuntu 18.04, RHEL 8 and later releases have it."
      ;;
  esac
}

# download URL FILE: downloads a file. Fails if the server sends nothing for $stall_limit seconds.
download() {
  if has curl; then
    curl --fail --location --globoff --show-error "$progress" --proto "=$scheme" --proto-redir =https \
      --connect-timeout "$stall_limit" --speed-limit 1 --speed-time "$stall_limit" --output "$2" "$1"
  elif [ "$scheme" = http ]; then
    wget --no-verbose --timeout="$stall_limit" --tries=1 --max-redirect=0 --output-document="$2" "$1"
  else
    # wget has no option that allows only https. So http_proxy is set to a host that does not exist, which makes any
    # redirect to http fail. no_proxy could exempt the redirect from this proxy. So no_proxy is emptied, unless
    # https_proxy is set, to which no_proxy also applies.
    http_proxy=http://redirected-from-https-to-http.invalid no_proxy=${https_proxy:+${no_proxy-}} \
      wget --no-verbose --timeout="$stall_limit" --tries=1 --output-document="$2" "$1"
  fi || fail "Could not download $1 to $tmp."
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

# Downloads, verifies and unpacks the archive. Sets `folder` to the directory of the unpacked files.
fetch() {
  progress=--silent
  download "$base/SHA256SUMS" "$tmp/SHA256SUMS"
  line=$(LC_ALL=C sed -n \
    "s/^\([0-9a-f]\{64\}\)  \(service-api-[0-9][0-9A-Za-z.+-]*-$target\.tar\.gz\)\$/\1 \2/p" "$tmp/SHA256SUMS") || :
  case $line in
    '') fail "$base/SHA256SUMS lists no archive for $target." ;;
    *' '*' '*) fail "$base/SHA256SUMS lists more than one archive for $target." ;;
  esac
  archive=${line#* }

  say "Downloading $base/$archive"
  [ ! -t 2 ] || progress=--progress-bar
  download "$base/$archive" "$tmp/$archive"
  sum=$(checksum "$tmp/$archive")
  [ "$sum" = "${line% *}" ] ||
    fail "$archive does not match SHA256SUMS and was not installed. Its SHA-256 is $sum, not ${line% *}."
  tar -xzof "$tmp/$archive" -C "$tmp" ||
    fail "Could not unpack $archive in $tmp. Fix the problem, or set TMPDIR to another directory."
  folder=$tmp/${archive%.tar.gz}
}

# each_file COMMAND: for each file to install, runs COMMAND with the path in the archive and the path under the prefix.
# The executable is last.
each_file() {
  "$1" completions/service-api.bash share/bash-completion/completions/service-api
  "$1" completions/_service-api share/zsh/site-functions/_service-api
  "$1" completions/service-api.fish share/fish/vendor_completions.d/service-api.fish
  for page in "$folder"/man/service-api*.[17]; do
    # A release without man pages leaves the pattern as it is.
    [ ! -f "$page" ] || "$1" "man/${page##*/}" "share/man/man${page##*.}/${page##*/}"
  done
  "$1" LICENSE share/doc/service-api/LICENSE
  "$1" README.md share/doc/service-api/README.md
  "$1" THIRD-PARTY-LICENSES share/doc/service-api/THIRD-PARTY-LICENSES
  "$1" service-api bin/service-api
}

# Creates a directory and its parents. Adds each directory that it creates to the list in `made`.
make_directory() {
  [ ! -d "${1:-/}" ] || return 0
  make_directory "${1%/*}"
  made="$1
$made"
  mkdir "$1" || fail "Could not create $1. Fix the problem, or set PREFIX to another directory."
}

cannot_write() {
  fail "Could not write to $1. Fix the problem, or set PREFIX to another directory."
}

# Copies a file to the directory where it will be installed, under a temporary name.
stage() {
  destination=$prefix/$2
  [ -f "$folder/$1" ] || fail "$archive does not contain $1."
  [ ! -d "$destination" ] || fail "Could not install $destination: a directory with this name exists. Remove the directory."
  make_directory "${destination%/*}"
  cp "$folder/$1" "$destination.$suffix" || cannot_write "${destination%/*}"
  case $1 in service-api) chmod 755 "$destination.$suffix" ;; *) chmod 644 "$destination.$suffix" ;; esac
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
  stall_limit=${SERVICE_API_STALL_LIMIT:-60} # in seconds; only the tests set this variable
  [ -n "$prefix" ] || fail "Neither HOME nor PREFIX is set. Set PREFIX to the directory to install to."
  case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
  prefix=${prefix%/}
  check_url
  base=${base%/}
  check_tools
  find_target

  tmp=$(mktemp -d "${TMPDIR:-/tmp}/service-api.XXXXXX") ||
    fail "Could not write to ${TMPDIR:-/tmp}. Set TMPDIR to another directory."
  suffix=${tmp##*.}
  folder=$tmp # until the archive is unpacked
  made=
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 141' PIPE
  trap 'exit 143' TERM

  fetch
  each_file stage
  version=$("$prefix/bin/service-api.$suffix" --version 2>&1 </dev/null) ||
    fail "The executable does not run on this system and was not installed: $version"
  trap '' HUP INT TERM
  each_file place

  printf '%s\n' "Installed $version in $prefix/bin"
  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) printf '%s\n' "This directory is not in your PATH. Add this line to ~/.profile:" "  export PATH=\"$prefix/bin:\$PATH\"" ;;
  esac
}

main "$@"
