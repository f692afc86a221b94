#!/bin/sh
# with-key runs a command with a new API key, and deletes the key when the command ends, fails or is interrupted.
#
#   with-key NAME PERMISSIONS COMMAND [ARGUMENT...]
#   with-key "job $CI_JOB_ID" DOCKER:UPDATE_ANY ./deploy
#
# COMMAND finds the secret in the environment variable API_KEY. The exit code is that of COMMAND. If the key cannot be
# created, COMMAND does not run and the exit code is that of service-api.
#
# Install: copy this file to a directory in PATH as with-key, or into your repository, and make it executable.
# Change:  nothing. Set SERVICE_API_URL, and SERVICE_API_KEY_FILE or SERVICE_API_KEY: a key that may create and delete
#          keys. COMMAND does not see this key.
# Needs:   service-api.
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
    echo "with-key: could not delete the key \"$name\". Delete it by hand." >&2
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
  # With 1 to 3 the server created no key: a key of this name belongs to another job.
  [ "$status" -gt 3 ] || trap - EXIT
  exit "$status"
}
# A shell that waits for a command in the foreground does not react to signals, so COMMAND runs in the background.
# File descriptor 3 gives it the standard input that a background command would lose.
exec 3<&0
(
  unset SERVICE_API_KEY SERVICE_API_KEY_FILE
  API_KEY=$secret exec "$@"
) <&3 3<&- &
pid=$!
wait "$pid"
