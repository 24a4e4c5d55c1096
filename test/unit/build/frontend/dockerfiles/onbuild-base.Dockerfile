FROM debian:12 AS base
ONBUILD ARG APP=app
ONBUILD WORKDIR /srv/$APP
ONBUILD COPY . .
ONBUILD RUN <<EOS
./configure
make
EOS

FROM base AS app
CMD ["/srv/app/run"]
