ARG REGISTRY=docker.io/library
FROM ${REGISTRY}/debian:12 AS tools
RUN --network=none ["/bin/true"]
RUN --mount=type=ssh --mount=type=tmpfs,target=/scratch,size=64m git clone git@example.com:org/tools.git /tools

FROM tools
COPY --from=docker.io/library/golang:1.24 /usr/local/go /usr/local/go
ENV PATH=${PATH}:/usr/local/go/bin GOFLAGS="-mod=readonly ${GOFLAGS:-}"
RUN --mount=type=bind,from=tools,source=/tools,target=/mnt,rw make -C /mnt install
