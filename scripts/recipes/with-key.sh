#!/bin/sh
# with-key creates an API key, runs a command with it, and deletes the key. It also deletes the key if the command fails
# or a signal interrupts it.
#
#   with-key NAME PERMISSIONS COMMAND [ARGUMENT...]
#   with-key "job $CI_JOB_ID" DOCKER:UPDATE_ANY ./deploy
#
# COMMAND reads the secret from the environment variable API_KEY. with-key exits with the exit code of COMMAND. If
# service-api cannot create the key, with-key does not run COMMAND and exits with the exit code of service-api.
#
# Install: copy this file to a directory in PATH as with-key, or into your repository, and make it executable.
# Change:  nothing.
# Needs:   service-api. SERVICE_API_URL, and a key that may create and delete keys in SERVICE_API_KEY_FILE or
#          SERVICE_API_KEY. COMMAND does not see this key.
set -eu +x

if [ "$#" -lt 3 ]; then
  echo "Usage: with-key NAME PERMISSIONS COMMAND [ARGUMENT...]" >&2
  exit 2
fi
name=$1 permissions=$2 pid=
shift 2

delete_key() {
  trap '' HUP INT TERM
  service-api apikey --delete --name "$name" >&2 ||
    echo "with-key: could not delete the key \"$name\". Run: service-api apikey --delete --name \"$name\"" >&2
}
stop() {
  [ -z "$pid" ] || kill "$pid" || :
  exit "$1"
}
trap delete_key EXIT
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM

secret=$(service-api apikey --create --name "$name" --permissions "$permissions") || {
  status=$?
  # With the exit codes 1 to 3 the server created no key. A key with this name belongs to another job: do not delete it.
  [ "$status" -gt 3 ] || trap - EXIT
  exit "$status"
}
# COMMAND runs in the background, because a shell handles signals only after a foreground command ends. A background
# command loses standard input, so file descriptor 3 passes it on.
exec 3<&0
(
  unset SERVICE_API_KEY SERVICE_API_KEY_FILE
  API_KEY=$secret exec "$@"
) <&3 3<&- &
pid=$!
wait "$pid"
