package state

import (
	"reflect"
	"testing"
)

// What is volatile is not written to the log: every field of a record that others can see has a tag.
func TestRecordsAreTagged(t *testing.T) {
	for _, record := range []any{Session{}, Finish{}, ModelRecord{}, MadeRecord{}, Rejection{}, Sampler{}, SamplerKey{},
		CheckpointSettings{}, SampleRecord{}, SampleResult{}, Recording{}} {
		typ := reflect.TypeOf(record)
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.IsExported() && f.Tag.Get("json") == "" {
				t.Errorf("%s.%s has no tag", typ, f.Name)
			}
		}
	}
}
