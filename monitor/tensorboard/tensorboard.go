// Package tensorboard writes TensorBoard's event files.
package tensorboard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// eventFile writes scalars in TensorBoard's format: TFRecord framing around tensorflow.Event messages
// (tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto), of which three fields are needed.
type eventFile struct{ file *os.File }

// Open starts a new file of a role.
func Open(c monitor.Config, role string) (monitor.Sink, error) {
	return newEventFile(filepath.Join(c.Dir, "monitor", "tensorboard", role), c.Now(), max(0, c.Keep+1))
}

// newEventFile starts a new file in dir. TensorBoard reads all files of a folder as one series; the session start at
// the given step makes it forget what older files say about that step and later ones.
func newEventFile(dir string, at time.Time, step int) (monitor.Sink, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("monitor: cannot make the folder for TensorBoard: %w", err)
	}
	for n := 0; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%010d.trinity.%d", at.Unix(), n))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("monitor: cannot start a TensorBoard file: %w", err)
		}
		head := appendTFRecord(nil, versionEvent(at))
		head = appendTFRecord(head, sessionStart(at, step))
		if _, err := f.Write(head); err != nil {
			return nil, errors.Join(fmt.Errorf("monitor: cannot start a TensorBoard file: %w", err), f.Close())
		}
		return &eventFile{f}, nil
	}
}

// Write implements monitor.Sink: all metrics of a step are one event. The file is not synced: metrics.jsonl is the
// record.
func (e *eventFile) Write(at time.Time, step int, m monitor.Metrics) error {
	if len(m) == 0 {
		return nil
	}
	if _, err := e.file.Write(appendTFRecord(nil, scalarEvent(at, step, m))); err != nil {
		return fmt.Errorf("monitor: cannot append to the TensorBoard file: %w", err)
	}
	return nil
}

// Close implements monitor.Sink.
func (e *eventFile) Close(bool) error { return e.file.Close() }

// appendTFRecord frames data: length (8 bytes), masked crc32c of the length, data, masked crc32c of data.
func appendTFRecord(buf, data []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	buf = append(buf, length...)
	buf = binary.LittleEndian.AppendUint32(buf, maskedCRC(length))
	buf = append(buf, data...)
	return binary.LittleEndian.AppendUint32(buf, maskedCRC(data))
}

// maskedCRC is TFRecord's: the crc32c rotated right by 15 bits plus a constant.
func maskedCRC(b []byte) uint32 {
	c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}

// appendEvent starts an Event: wall_time = 1 (double), step = 2 (int64).
func appendEvent(at time.Time, step int) []byte {
	buf := protowire.AppendTag(nil, 1, protowire.Fixed64Type)
	buf = protowire.AppendFixed64(buf, math.Float64bits(float64(at.UnixMicro())/1e6))
	buf = protowire.AppendTag(buf, 2, protowire.VarintType)
	return protowire.AppendVarint(buf, uint64(step))
}

func appendBytes(buf []byte, field protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(buf, field, protowire.BytesType), b)
}

// versionEvent has Event.file_version = 3, the first of every file.
func versionEvent(at time.Time) []byte {
	return appendBytes(appendEvent(at, 0), 3, []byte("brain.Event:2"))
}

// sessionStart has Event.session_log = 7 with SessionLog.status = 1 set to START = 1.
func sessionStart(at time.Time, step int) []byte {
	status := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	return appendBytes(appendEvent(at, step), 7, status)
}

// scalarEvent has Event.summary = 5 with a Summary.value = 1 for each metric: tag = 1, simple_value = 2 (float).
func scalarEvent(at time.Time, step int, m monitor.Metrics) []byte {
	var summary []byte
	for _, k := range m.Keys() {
		value := appendBytes(nil, 1, []byte(k))
		value = protowire.AppendTag(value, 2, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(m[k])))
		summary = appendBytes(summary, 1, value)
	}
	return appendBytes(appendEvent(at, step), 5, summary)
}
