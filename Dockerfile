# The image is the static binary, the CA certificates that HTTPS needs and an empty /tmp. Jobs lie in /work:
#   docker build -t trinity . && docker run -v "$PWD:/work" trinity run --config examples/tiny/gsm8k.yaml
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w -buildid=' -o /trinity ./cmd/trinity
RUN mkdir -p /root-of-image/tmp && chmod 1777 /root-of-image/tmp

FROM scratch
COPY --from=build /root-of-image/ /
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /trinity /trinity
WORKDIR /work
ENTRYPOINT ["/trinity"]
