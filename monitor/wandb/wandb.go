// Package wandb writes runs of Weights & Biases: the file that `wandb sync` sends to the service and, with a key, the
// same as it grows over the service's own interface.
package wandb

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// runFile is a run as the service's own library keeps it offline, which `wandb sync` sends to the service: a
// log of wandb_internal.Record messages (wandb/proto/wandb_internal.proto) in LevelDB's framing, after seven bytes of
// header. A role has one file for all starts of a job, so that the service sees one run.
type runFile struct {
	file   *os.File
	size   int64
	num    int64      // of the last record
	lines  int        // of the history
	table  string     // the next step's samples as JSON of the history; "" for none
	upload *mediaFile // their file
	begin  time.Time
	stream *stream // nil: the run stays here
}

// Field numbers of the messages.
const (
	recordNum, recordHistory, recordSummary, recordRun, recordExit, recordHeader = 1, 2, 3, 17, 18, 21
	recordFiles, filesItem, fileItemPath, fileItemType, fileMedia                = 6, 1, 1, 3, 2
	runID, runProject, runConfig, runGroup, runName, runTags, runStart           = 1, 3, 4, 6, 8, 10, 17
	configUpdate, configKey, configValue                                         = 1, 1, 16
	historyItem, historyStep, historyNested, historyValue                        = 1, 2, 2, 16
	headerVersion, versionProducer, versionConsumer                              = 1, 1, 2
	exitCode                                                                     = 1
)

// Open starts the run of a role, or continues with the one that the job has, after step c.Keep. With a key it is
// sent to the service too.
func Open(c monitor.Config, role string) (monitor.Sink, error) {
	w, id, err := openFile(c, role)
	if err != nil {
		return nil, err
	}
	if key := keyOf(c); key != "" {
		if w.stream, err = startStream(c, key, id, role); err != nil {
			return nil, errors.Join(fmt.Errorf("monitor: wandb: %w; check the key in WANDB_API_KEY, or set "+
				"WANDB_MODE=offline", err), w.file.Close())
		}
	}
	return w, nil
}

func openFile(c monitor.Config, role string) (w *runFile, id string, err error) {
	w = &runFile{begin: c.Now()}
	old, err := disk.Glob(filepath.Join(c.Dir, "monitor", "wandb", role), "offline-run-*/run-*.wandb")
	if err != nil {
		return nil, "", fmt.Errorf("monitor: %w", err)
	}
	if len(old) > 0 {
		id = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(old[0]), "run-"), ".wandb")
		if err := w.resume(old[0], c.Keep); err != nil {
			return nil, "", err
		}
		if w.num < 2 { // the start was torn
			w.num, w.size = 0, 0
			err = w.start(c, role, id)
		}
		return w, id, err
	}
	id = newID()
	dir := filepath.Join(c.Dir, "monitor", "wandb", role, "offline-run-"+w.begin.UTC().Format("20060102_150405")+"-"+id)
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		return nil, "", fmt.Errorf("monitor: cannot make the folder for wandb: %w", err)
	}
	if w.file, err = os.OpenFile(filepath.Join(dir, "run-"+id+".wandb"), os.O_RDWR|os.O_CREATE|os.O_EXCL,
		0o644); err != nil {
		return nil, "", fmt.Errorf("monitor: cannot start a wandb file: %w", err)
	}
	if err := w.start(c, role, id); err != nil {
		return nil, "", errors.Join(err, w.file.Close())
	}
	return w, id, nil
}

// newID draws an id as the library does: eight letters and digits.
func newID() string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	id := make([]byte, 8)
	rand.Read(id) // never fails
	for i, b := range id {
		id[i] = letters[int(b)%len(letters)]
	}
	return string(id)
}

// start writes the header of the file, the version record and the run.
func (w *runFile) start(c monitor.Config, role, id string) error {
	head := append([]byte(":W&B"), 0xe1, 0xbe, 0) // the magic number 0xBEE1 and version 0
	if err := w.append(head); err != nil {
		return err
	}
	version := appendBytes(appendBytes(nil, versionProducer, "trinity"), versionConsumer, "0.70.0")
	if err := w.record(recordHeader, appendBytes(nil, headerVersion, version)); err != nil {
		return err
	}
	var config []byte
	for _, key := range slices.Sorted(maps.Keys(c.Settings)) {
		item := appendBytes(appendBytes(nil, configKey, key), configValue, monitor.JSON(c.Settings[key]))
		config = appendBytes(config, configUpdate, item)
	}
	start := appendNumber(nil, 1, uint64(w.begin.Unix()))
	run := appendBytes(appendBytes(nil, runID, id), runProject, c.Project)
	run = appendBytes(appendBytes(run, runConfig, config), runGroup, cmp.Or(c.Group, c.Name))
	run = appendBytes(appendBytes(run, runName, c.Name+"_"+role), runTags, role)
	return w.record(recordRun, appendBytes(run, runStart, start))
}

// Write implements monitor.Sink: a step is its line of the history, and the same as the summary of last values.
func (w *runFile) Write(at time.Time, step int, m monitor.Metrics) error {
	if len(m) == 0 {
		return nil
	}
	var items []byte
	var line []string
	add := func(key, value string) {
		line = append(line, monitor.JSON(key)+":"+value)
		item := appendBytes(appendBytes(nil, historyNested, key), historyValue, value)
		items = appendBytes(items, historyItem, item)
	}
	for _, k := range m.Keys() {
		add(k, monitor.JSON(m[k]))
	}
	upload := w.upload
	if w.table != "" {
		add("rollouts", w.table)
		w.table, w.upload = "", nil
	}
	add("_timestamp", monitor.JSON(float64(at.UnixMicro())/1e6))
	add("_runtime", monitor.JSON(at.Sub(w.begin).Seconds()))
	add("_step", monitor.JSON(step))
	if w.stream != nil {
		w.stream.add(historyLine{history: "{" + strings.Join(line, ",") + "}", offset: w.lines, table: upload})
	}
	w.lines++
	number := appendNumber(nil, 1, uint64(step))
	if err := w.record(recordHistory,
		append(items[:len(items):len(items)], appendBytes(nil, historyStep, number)...)); err != nil {
		return err
	}
	return w.record(recordSummary, items) // SummaryRecord.update has the fields of HistoryRecord.item
}

// Close implements monitor.Sink. It ends the run for the service if it is finished; a run that continues later stays
// open.
func (w *runFile) Close(finished bool) error {
	var err error
	if finished {
		err = w.record(recordExit, appendNumber(nil, exitCode, 0))
	}
	if w.stream != nil {
		w.stream.close(finished)
	}
	return errors.Join(err, w.file.Close())
}

// appendBytes appends a field with a text or an embedded message.
func appendBytes[T string | []byte](buf []byte, field protowire.Number, b T) []byte {
	buf = protowire.AppendTag(buf, field, protowire.BytesType)
	return append(protowire.AppendVarint(buf, uint64(len(b))), b...)
}

func appendNumber(buf []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(buf, field, protowire.VarintType), v)
}

// record appends a Record with one field besides its number.
func (w *runFile) record(field protowire.Number, body []byte) error {
	w.num++
	rec := appendNumber(nil, recordNum, uint64(w.num))
	return w.append(frames(w.size, appendBytes(rec, field, body)))
}

func (w *runFile) append(b []byte) error {
	if _, err := w.file.WriteAt(b, w.size); err != nil {
		return fmt.Errorf("monitor: cannot append to the wandb file: %w", err)
	}
	w.size += int64(len(b))
	return nil
}

// resume opens a file and cuts it after the last record that the committed steps have.
func (w *runFile) resume(path string, keep int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return errors.Join(fmt.Errorf("monitor: %w", err), f.Close())
	}
	w.file, w.size = f, headSize
	for {
		rec, end, ok := unframe(data, w.size)
		if !ok || goesBeyond(rec, keep) {
			break
		}
		w.num, w.size = w.num+1, end
		if _, ok := subfield(rec, recordHistory); ok {
			w.lines++
		}
	}
	if err := f.Truncate(w.size); err != nil {
		return errors.Join(fmt.Errorf("monitor: %w", err), f.Close())
	}
	return nil
}

// goesBeyond reports whether a record is of a step after keep, or ends the run. The summary of a step stands after
// its history.
func goesBeyond(rec []byte, keep int) bool {
	if _, ends := subfield(rec, recordExit); ends {
		return true
	}
	history, ok := subfield(rec, recordHistory)
	if !ok {
		return false
	}
	number, _ := subfield(history, historyStep)
	_, _, n := protowire.ConsumeTag(number)
	if n < 0 {
		return true // no message that this program wrote
	}
	step, n := protowire.ConsumeVarint(number[n:])
	return n < 0 || int64(step) > int64(keep)
}

// subfield is the first embedded message with a field number.
func subfield(msg []byte, want protowire.Number) ([]byte, bool) {
	for len(msg) > 0 {
		field, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return nil, false
		}
		msg = msg[n:]
		if field == want && kind == protowire.BytesType {
			body, n := protowire.ConsumeBytes(msg)
			return body, n >= 0
		}
		if n = protowire.ConsumeFieldValue(field, kind, msg); n < 0 {
			return nil, false
		}
		msg = msg[n:]
	}
	return nil, false
}
