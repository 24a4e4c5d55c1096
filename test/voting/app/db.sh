#!/bin/sh
# PostgreSQL on the volume, which is made at the first start with the password of the secret.
set -eu
data=/var/lib/voting/data
programs=/usr/lib/postgresql/15/bin
if [ ! -f "$data/PG_VERSION" ]; then
  "$programs/initdb" --pgdata "$data" --username postgres --pwfile /run/secrets/db_password \
    --auth-local trust --auth-host scram-sha-256
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
fi
exec "$programs/postgres" -D "$data" -c 'listen_addresses=*' -c unix_socket_directories=/tmp
