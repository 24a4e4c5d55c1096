FROM debian:12 as python
ARG DEBIAN_FRONTEND=noninteractive
RUN rm -f /etc/apt/apt.conf.d/docker-clean
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked apt-get update && apt-get install -y --no-install-recommends python3-venv
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN python3 -m venv /venv
ENV PATH="/venv/bin:$PATH" PYTHONUNBUFFERED=1
COPY requirements.txt /tmp/
RUN pip install -r /tmp/requirements.txt | tee /tmp/log
COPY --chmod=0755 <<-"EOS" /usr/local/bin/entry
	#!/bin/sh
	set -e
	exec "$@"
EOS
COPY app /srv/app
WORKDIR /srv
VOLUME ["/srv/media"]
LABEL org.opencontainers.image.title="web" \
      org.opencontainers.image.vendor='An "Example"'
ENTRYPOINT ["entry"]
CMD gunicorn --bind 0.0.0.0:${PORT:-8000} app.wsgi
