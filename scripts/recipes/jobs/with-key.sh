#!/bin/sh
# with-key creates an API key, runs a command with it, and deletes the key. with-key deletes the key even if the command
# fails, or if SIGHUP, SIGINT or SIGTERM stops with-key.
#
#   with-key NAME PERMISSIONS COMMAND [ARGUMENT...]
#   with-key "job $CI_JOB_ID" DOCKER:UPDATE_ANY ./deploy
#
# COMMAND reads the secret from the environment variable API_KEY. with-key exits with the exit code of COMMAND. If
# service-api cannot create the key, with-key does not run COMMAND and exits with the exit code of service-api.
#
# Install: copy this file to a directory in PATH as with-key, or into your repository, and make it executable.
# Change:  nothing. The script works as it is.
# Needs:   service-api, SERVICE_API_URL, and a key in SERVICE_API_KEY_FILE or SERVICE_API_KEY. This key needs
#          API_KEY:CREATE_ANY, API_KEY:READ_OWN, API_KEY:DELETE_OWN and PERMISSIONS. COMMAND does not receive this key.
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
  # If the exit code is 1, 2 or 3, the server created no key. If a key with this name exists, another job uses it. Do
  # not delete it.
  [ "$status" -gt 3 ] || trap - EXIT
  exit "$status"
}
# COMMAND runs in the background, because a shell does not handle signals while a foreground command runs. The shell
# disconnects background commands from standard input, so file descriptor 3 passes standard input to COMMAND.
exec 3<&0
(
  unset SERVICE_API_KEY SERVICE_API_KEY_FILE
  API_KEY=$secret exec "$@"
) <&3 3<&- &
pid=$!
wait "$pid"
