package state

import (
	"encoding/json"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Limits of the texts of clients that the server keeps.
const (
	MaxText     = 4 << 10  // bytes of a name or a version
	MaxTags     = 64       // of a session
	MaxMetadata = 64 << 10 // bytes of all keys and values
)

// CheckTexts refuses texts of a session that are too long.
func CheckTexts(name, version string, tags []string, metadata map[string]any) error {
	for _, t := range []struct{ what, text string }{{"display_name", name}, {"sdk_version", version}} {
		if err := CheckText(t.what, t.text); err != nil {
			return err
		}
	}
	if len(tags) > MaxTags {
		return tinker.Userf("the session has %d tags; use at most %d", len(tags), MaxTags)
	}
	for _, tag := range tags {
		if err := CheckText("tags", tag); err != nil {
			return err
		}
	}
	return CheckMetadata("user_metadata", Texts(metadata))
}

func CheckText(what, text string) error {
	if len(text) > MaxText {
		return tinker.Userf("%s has %d bytes; at most %d are kept", what, len(text), MaxText)
	}
	return nil
}

func CheckMetadata(what string, m map[string]string) error {
	n := 0
	for key, value := range m {
		n += len(key) + len(value)
	}
	if n > MaxMetadata {
		return tinker.Userf("%s has %d bytes; at most %d are kept", what, n, MaxMetadata)
	}
	return nil
}

// Texts converts the values of a user's metadata to strings: REST answers have only strings.
func Texts(m map[string]any) map[string]string {
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
