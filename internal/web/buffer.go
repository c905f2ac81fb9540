package web

import (
	"errors"
	"io"
)

// reservedBuffer is a byte buffer whose memory is reserved before it is allocated.
type reservedBuffer struct {
	share *Share
	most  int64  // bytes
	hint  int64  // announced length in bytes; trusted once a quarter has arrived
	limit string // the name of most
	b     []byte
}

// firstSink is the initial size of a sink, bytes.
const firstSink = 512

func (k *reservedBuffer) readFrom(r io.Reader) error {
	for {
		if len(k.b) == cap(k.b) {
			if err := k.grow(); err != nil {
				return err
			}
		}
		n, err := r.Read(k.b[len(k.b):cap(k.b)])
		k.b = k.b[:len(k.b)+n]
		switch {
		case int64(len(k.b)) > k.most:
			k.b = k.b[:k.most]
			return tooLarge(k.most, k.limit)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (k *reservedBuffer) grow() error {
	have := int64(cap(k.b))
	want := max(firstSink, 2*have)
	if k.hint > have && k.hint < 2*want {
		want = k.hint + 1 // one more, to see the end
	}
	want = min(want, k.most+1)
	if err := k.share.Take(want); err != nil {
		return err
	}
	b := make([]byte, len(k.b), want)
	copy(b, k.b)
	k.b = b
	k.share.Give(have)
	return nil
}

// drop releases the bytes.
func (k *reservedBuffer) drop() {
	k.share.Give(int64(cap(k.b)))
	k.b = nil
}
