#!/bin/sh
# rotate-key replaces an API key. A file with a working secret exists at every moment.
#
#   rotate-key NAME FILE PERMISSIONS [COMMAND [ARGUMENT...]]
#   rotate-key backup /etc/backup/api.key DISK:READ_ANY
#
# FILE is a link to FILE.A or FILE.B. These files hold the secrets of the keys "NAME A" and "NAME B". Each run replaces
# the key that FILE does not point to, and then points FILE to the new secret. The previous secret works until the next
# run. COMMAND, if given, reads the new secret from standard input, for example to store it in a secrets manager.
# If a step fails, FILE does not change and its secret still works. Run the script again.
#
# Install: copy this file to /usr/local/bin/rotate-key and make it executable.
# Change:  nothing. Set SERVICE_API_URL and SERVICE_API_KEY_FILE; README.md says which permissions this key needs.
# Needs:   service-api, flock (util-linux), GNU coreutils.
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
  echo "rotate-key: another process is rotating $file" >&2
  exit 1
}

case $(readlink "$file") in
  *.A) slot=B ;;
  *) slot=A ;;
esac
new=$(mktemp "$file.XXXXXX")
trap 'rm -f "$new"' EXIT
service-api apikey --create --name "$name $slot" --permissions "$permissions" --overwrite >"$new"
sync "$new"
mv -f "$new" "$file.$slot"

if [ "$#" -gt 0 ]; then
  tr -d '\n' <"$file.$slot" | "$@"
fi
ln -sf "${file##*/}.$slot" "$file.link"
mv -f "$file.link" "$file"
