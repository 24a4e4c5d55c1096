FROM voting/debian
COPY packages /packages
RUN DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /packages/*.deb && rm -rf /packages
USER redis
CMD ["redis-server", "--protected-mode", "no", "--save", "", "--appendonly", "no"]
