#!/bin/sh
# rotate-key replaces an API key. After the first run, FILE contains a working secret at every moment.
#
#   rotate-key NAME FILE PERMISSIONS [COMMAND [ARGUMENT...]]
#   rotate-key backup /etc/backup/api.key DISK:READ_ANY
#
# FILE.A contains the secret of the key "NAME A", and FILE.B contains the secret of the key "NAME B". FILE is a symbolic
# link to FILE.A or FILE.B. Each run:
#   1. replaces the key that FILE does not point to, and writes the new secret to its file
#   2. passes the new secret to COMMAND on standard input, for example to store it in a secrets manager
#   3. points FILE to the new secret
# The previous secret works until the next run. If a step fails, FILE does not change and its secret still works. In
# that case, run rotate-key again.
#
# Install: copy this file to /usr/local/bin/rotate-key and make it executable.
# Change:  nothing. The script works as it is.
# Needs:   service-api and flock (util-linux). The keys are created on the server that the settings of service-api
#          select, for example SERVICE_API_URL. ../README.md lists the permissions that the calling key needs.
set -eu
umask 077

if [ "$#" -lt 3 ]; then
  echo "Usage: rotate-key NAME FILE PERMISSIONS [COMMAND [ARGUMENT...]]" >&2
  exit 2
fi
name=$1 file=$2 permissions=$3
shift 3

exec 9>>"$file.lock"
flock -n 9 || {
  echo "rotate-key: another process is rotating $file. Wait until it ends, then run rotate-key again." >&2
  exit 1
}

case $(readlink "$file") in
  *.A) slot=B ;;
  *) slot=A ;;
esac
service-api apikey --create --name "$name $slot" --permissions "$permissions" --overwrite --secret-file "$file.$slot"

if [ "$#" -gt 0 ]; then
  tr -d '\n' <"$file.$slot" | "$@"
fi
ln -sf "${file##*/}.$slot" "$file.link"
mv -f "$file.link" "$file"
