package main

import (
	"net"
	"net/url"
	"testing"
)

// A token may have characters that mean something in an address.
func TestStudioURL(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8265}
	for _, token := range []string{"", "secret", "a+b&c#d%e f"} {
		u, err := url.Parse(studioURL(at, token))
		if err != nil || u.Host != at.String() || u.Query().Get("token") != token {
			t.Errorf("%q: %v, %v", token, u, err)
		}
	}
}
