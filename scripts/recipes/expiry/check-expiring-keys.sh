#!/bin/sh
# check-expiring-keys is a check for Nagios, Icinga and other monitoring systems that run the same plugins.
#
#   check-expiring-keys WARNING CRITICAL
#   check-expiring-keys 14d 2d
#
# The first line of the output is the status. The lines after it are the names of the keys and when they expire. The
# exit code is
#   2 (critical)  if a key expires within CRITICAL or has expired
#   1 (warning)   if a key expires within WARNING
#   3 (unknown)   if service-api could not list the keys
#   0 (ok)        otherwise
# To end the alert for an expired key, replace the key or run: service-api apikey --delete --expired
#
# Install: copy this file to the directory of the plugins as check-expiring-keys, and make it executable.
# Change:  nothing. The script works as it is.
# Needs:   service-api, SERVICE_API_URL, and the monitor key in SERVICE_API_KEY_FILE (see ../README.md).
set -u

if [ "$#" -ne 2 ]; then
  echo "Usage: check-expiring-keys WARNING CRITICAL"
  exit 3
fi
# Monitoring systems show only standard output.
exec 2>&1

# check STATUS EXIT_CODE DURATION
check() {
  keys=$(service-api apikey list --expiring "$3" --check)
  case $? in
    0) return ;;
    # If there are no keys, service-api has printed an error.
    1) [ -n "$keys" ] || exit 3 ;;
    *) exit 3 ;;
  esac
  echo "$1: API keys expire within $3 or have expired"
  # The fields are the name and the time of the expiry.
  printf '%s\n' "$keys" | cut -f 1,8
  exit "$2"
}

check CRITICAL 2 "$2"
check WARNING 1 "$1"
echo "OK: no API key expires within $1"
