package hub

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// damagedError says that a file's bytes are not those its ETag names.
type damagedError struct {
	name, got, want string
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("hub: %s came with checksum %s instead of %s; it was removed, so the same command fetches it "+
		"again", e.name, e.got, e.want)
}

// verify compares the file with its ETag: sha256 of large files, git's sha1 (of "blob <size>\0" and the bytes) of small
// ones. A mirror's ETag of another form says nothing. A damaged file is removed.
func (b *blobFile) verify() error {
	h := hashFor(b.file.etag, b.file.size)
	if h == nil {
		return nil
	}
	if _, err := io.Copy(h, io.NewSectionReader(b.data, 0, b.file.size)); err != nil {
		return fmt.Errorf("hub: %s: %w", b.file.name, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != b.file.etag {
		fs := b.hub.fs
		return errors.Join(&damagedError{b.file.name, got, b.file.etag}, b.data.Close(),
			fs.Remove(b.path()+".json"), fs.Remove(b.path()))
	}
	return nil
}

func hashFor(etag string, size int64) hash.Hash {
	if _, err := hex.DecodeString(etag); err != nil {
		return nil
	}
	switch len(etag) {
	case 2 * sha256.Size:
		return sha256.New()
	case 2 * sha1.Size:
		h := sha1.New()
		fmt.Fprintf(h, "blob %d\x00", size)
		return h
	}
	return nil
}
