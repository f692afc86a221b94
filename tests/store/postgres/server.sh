# Runs a PostgreSQL server for server.ts. Usage: server.sh DIRECTORY BINARIES PORT OPTIONS CACHE
#
# Creates a database cluster in DIRECTORY/data, or copies it from CACHE, because initdb takes a second. Then reads commands, `start` or `stop`, from standard input, one per
# line. Answers each command with the line `done` or `failed`. When standard input ends, stops the server and removes
# DIRECTORY. Standard input ends when the tests end, even if they are killed. The cluster is in memory if /dev/shm has
# 2 GB, because creating and dropping a database means hundreds of small files.

export directory=$1 binaries=$2 port=$3 options=$4
cluster=$5/postgres-$({ "$binaries/initdb" --version && cat "$0"; } | cksum | cut -d ' ' -f 1)
trap '' HUP INT TERM PIPE # these signals do not end the script; the end of standard input does
cd "$directory" || exit

memory=
if [ "$(df -Pk /dev/shm 2>/dev/null | awk 'END { print int($4) }')" -ge 2000000 ]; then
  memory=$(mktemp -d /dev/shm/service-api-postgres-XXXXXX) || exit
  mkdir "$memory/data" && ln -s "$memory/data" data && cp certificate private_key "$memory"
fi

[ ! -d "$cluster" ] || { cp -R "$cluster/." data && chmod 700 data/.; } || exit

# PostgreSQL refuses to run as root.
user=
if [ "$(id -u)" = 0 ]; then
  user=nobody
  id postgres >/dev/null 2>&1 && user=postgres
  chown -R "$user" "$directory" $memory
fi
as_user() { # COMMAND
  if [ -z "$user" ]; then
    sh -c "$1"
  elif setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups true 2>/dev/null; then
    setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups sh -c "$1"
  else
    su -s /bin/sh "$user" -c "$1"
  fi
}

server=
start() {
  as_user 'exec "$binaries/postgres" -D data -p "$port" $options' >>log 2>&1 </dev/null &
  server=$!
  until grep -q '^ready' data/postmaster.pid 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || return
    sleep 0.02
  done
}
stop() { # SIGNAL
  [ -z "$server" ] || kill -s "$1" "$(head -n 1 data/postmaster.pid)"
  wait
  server=
}

create_cluster() {
  as_user '"$binaries/initdb" -D data --username=admin --pwfile=password --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync' || return
  # The link appears when the copy is complete. If another server has made it, this copy is superfluous.
  mkdir -p "${cluster%/*}" && cp -R data/. "$cluster-$$" && ln -sn "${cluster##*/}-$$" "$cluster" || rm -rf "$cluster-$$"
}

keep() {
  [ -e data/PG_VERSION ] || create_cluster >>log 2>&1
  while read -r command; do
    case $command in
      start) start ;;
      stop) stop INT ;;
    esac && echo done || echo failed
  done 2>/dev/null # hides the errors of echo after the tests have ended
  stop QUIT
  cd / && rm -rf "$directory" $memory
}

# If Deno ends with an error, it kills this shell, but not the children of this shell. Therefore `keep` runs in a child,
# which sees the end of standard input and cleans up.
exec 3<&0
keep <&3 3<&- &
wait
