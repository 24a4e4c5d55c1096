FROM debian:12 AS theme
ADD --checksum=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef https://example.com/theme-1.2.tar.gz /theme.tar.gz
RUN tar -xzf /theme.tar.gz -C /srv

FROM debian:12 AS docs
ADD --keep-git-dir=false https://example.com/docs.git#v2:content /docs

FROM scratch
COPY --parents --from=docs /docs/./**/*.html /site/
COPY --from=theme /srv/theme /site/theme
COPY --exclude=*.map --exclude=drafts assets /site/assets/
ADD overlay.tar /
