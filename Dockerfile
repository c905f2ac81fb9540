# The image is the static binary and the CA certificates that HTTPS needs. Jobs lie in /work:
#   docker build -t trinity . && docker run -v "$PWD:/work" trinity run --config examples/tiny/gsm8k.yaml
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w -buildid=' -o /trinity ./cmd/trinity

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /trinity /trinity
WORKDIR /work
ENTRYPOINT ["/trinity"]
