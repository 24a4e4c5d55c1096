FROM voting/debian
COPY packages /packages
RUN mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /packages/*.deb && rm -rf /packages \
 && install -d -o postgres -g postgres -m 700 /var/lib/voting
COPY db.sh /app/
USER postgres
STOPSIGNAL SIGINT
CMD ["sh", "/app/db.sh"]
