package wal

import "encoding/binary"

// HeaderOfVersion is the header of a file that another version wrote.
func HeaderOfVersion(v uint32) []byte {
	h := appendHeader(nil, 1)
	binary.LittleEndian.PutUint32(h[len(magic):], v)
	return binary.LittleEndian.AppendUint32(h[:headerSize-4], sum(h[:headerSize-4]))
}
