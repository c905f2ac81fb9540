package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
)

// sealKey is the last member of a sealed JSON object: the crc32c of the text before it, without trailing white space.
const sealKey = `"crc32c": "`

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged means that a sealed file has changed since it was written.
var ErrDamaged = errors.New("its checksum differs: it was damaged or changed by hand; restore it from a backup, or " +
	"remove its last member, crc32c, to accept it as it is")

// WriteJSON replaces a file in one step by an object's JSON with a checksum.
func WriteJSON(fs FS, path string, v any) error {
	sealed, err := Seal(v)
	if err != nil {
		return fmt.Errorf("disk: write %s: %w", path, err)
	}
	return WriteFile(fs, path, sealed)
}

// Seal is an object's JSON with a checksum as its last member.
func Seal(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	body, isObject := bytes.CutSuffix(data, []byte("}"))
	if !isObject {
		return nil, fmt.Errorf("%T is not a JSON object", v)
	}
	body = bytes.TrimRight(body, " \n")
	if !bytes.HasSuffix(body, []byte("{")) {
		body = append(body, ',')
	}
	return fmt.Appendf(body, "\n  %s%08x\"\n}\n", sealKey, crc32.Checksum(body, castagnoli)), nil
}

// ReadJSON reads what WriteJSON wrote, or an object without a checksum, which an older version or another program
// wrote.
func ReadJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := Unseal(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Unseal checks the checksum of an object, if it has one.
func Unseal(data []byte) error {
	at := bytes.LastIndex(data, []byte(sealKey))
	if at < 0 {
		return nil
	}
	body := bytes.TrimRight(data[:at], " \n")
	want := fmt.Sprintf("%08x\"\n}\n", crc32.Checksum(body, castagnoli))
	if string(data[at+len(sealKey):]) != want {
		return ErrDamaged
	}
	return nil
}
