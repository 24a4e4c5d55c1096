FROM debian:12 AS common
RUN apt-get update

FROM common AS a
RUN make a
FROM common AS b
RUN make b
FROM common AS c
RUN make c
FROM common AS unused
RUN make unused

FROM scratch AS files
COPY --from=a /out /a
COPY --from=b /out /b
COPY --from=c /out /c

FROM debian:12
COPY --from=files / /opt
