FROM debian:12

# a user of its own before packages make one
RUN set -eux; \
	groupadd -r db --gid=999; \
# the home directory is where data lies
	useradd -r -g db --uid=999 --home-dir=/var/lib/db --shell=/bin/bash db

ENV DB_MAJOR 16
ENV DB_VERSION 16.4-1

RUN <<EOF
set -ex
apt-get update
apt-get install -y "db-$DB_MAJOR=$DB_VERSION"
rm -rf /var/lib/apt/lists/*
EOF

ENV PGDATA /var/lib/db/data
RUN mkdir -p "$PGDATA" && chown -R db:db "$PGDATA" && chmod 777 "$PGDATA"
VOLUME /var/lib/db/data

COPY docker-entrypoint.sh docker-ensure-initdb.sh /usr/local/bin/
RUN ln -sT docker-ensure-initdb.sh /usr/local/bin/docker-enforce-initdb.sh
ENTRYPOINT ["docker-entrypoint.sh"]
STOPSIGNAL SIGINT
EXPOSE 5432
CMD ["postgres"]
