# syntax=docker/dockerfile:1.7

ARG GO_VERSION=1.24
ARG DEBIAN=12

FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS base
WORKDIR /src
ENV CGO_ENABLED=0
RUN --mount=type=bind,source=go.mod,target=go.mod \
    --mount=type=bind,source=go.sum,target=go.sum \
    --mount=type=cache,target=/go/pkg/mod \
    go mod download -x

FROM base AS build
ARG TARGETOS TARGETARCH VERSION=dev
RUN --mount=type=bind,target=. \
    --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build,id=build-$TARGETARCH \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -ldflags "-X main.version=$VERSION" -o /out/server ./cmd/server

FROM base AS test
RUN --mount=type=bind,target=. go test ./...

FROM debian:${DEBIAN}
COPY --link --from=build /out/server /usr/local/bin/
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["server"]
CMD ["--listen", ":8080"]
