package server

import (
	"encoding/json"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Limits of the texts of clients that the server keeps.
const (
	maxText     = 4 << 10  // bytes of a name or a version
	maxTags     = 64       // of a session
	maxMetadata = 64 << 10 // bytes of all keys and values
)

// checkTexts refuses texts of a session that are too long.
func checkTexts(name, version string, tags []string, metadata map[string]any) error {
	for _, t := range []struct{ what, text string }{{"display_name", name}, {"sdk_version", version}} {
		if err := checkText(t.what, t.text); err != nil {
			return err
		}
	}
	if len(tags) > maxTags {
		return tinker.Userf("the session has %d tags; use at most %d", len(tags), maxTags)
	}
	for _, tag := range tags {
		if err := checkText("tags", tag); err != nil {
			return err
		}
	}
	return checkMetadata("user_metadata", texts(metadata))
}

func checkText(what, text string) error {
	if len(text) > maxText {
		return tinker.Userf("%s has %d bytes; at most %d are kept", what, len(text), maxText)
	}
	return nil
}

func checkMetadata(what string, m map[string]string) error {
	n := 0
	for key, value := range m {
		n += len(key) + len(value)
	}
	if n > maxMetadata {
		return tinker.Userf("%s has %d bytes; at most %d are kept", what, n, maxMetadata)
	}
	return nil
}

// texts converts the values of a user's metadata to strings: REST answers have only strings.
func texts(m map[string]any) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := map[string]string{}
	for k, v := range m {
		if text, ok := v.(string); ok {
			out[k] = text
		} else if raw, err := json.Marshal(v); err == nil {
			out[k] = string(raw)
		}
	}
	return out
}
