package config

import (
	"strings"
	"testing"
)

// The section fleet is off by default, and its mistakes are named at their keys.
func TestFleet(t *testing.T) {
	parse := func(lines string) (*Config, error) {
		return Parse("f.yml", []byte("model: {model_path: m, max_model_len: 9, max_prompt_tokens: 4, "+
			"max_response_tokens: 5}\n"+
			"buffer: {batch_size: 1, total_steps: 1, explorer_input: {taskset: {path: d}}}\n"+lines), nil, env())
	}
	c, err := parse("")
	if err != nil || c.Fleet.On() || c.Fleet.Verify != 0.01 || !c.Fleet.Local {
		t.Errorf("without the section: %+v, %v", c.Fleet, err)
	}
	c, err = parse("fleet: {listen: 0.0.0.0:4222, verify: 1, local: false}")
	if err != nil || !c.Fleet.On() || c.Fleet.Verify != 1 || c.Fleet.Local {
		t.Errorf("with the section: %+v, %v", c.Fleet, err)
	}
	for lines, want := range map[string]string{
		"fleet: {listen: somewhere}":                  `fleet.listen: is "somewhere"; give host:port`,
		"fleet: {listen: a:4222, url: nats://b:4222}": "fleet.url: is given beside fleet.listen",
		"fleet: {url: cluster}":                       `fleet.url: is "cluster"; give the URL`,
		"fleet: {listen: a:4222, verify: 2}":          "fleet.verify: is 2; it must be from 0 to 1",
		"fleet: {listen: a:4222, cert: c.pem}":        "fleet.cert",
		"fleet: {listen: a:4222, metrics: here}":      `fleet.metrics: is "here"; give host:port`,
		"fleet: {url: nats://a:1, signer: s.nk}":      "fleet.signer: is \"s.nk\" without fleet.url and fleet.creds",
		"fleet: {listen: a:4222, store_mib: 1}":       "fleet.store_mib: is 1; it must be at least 64",
		"fleet: {listn: a:4222}":                      "did you mean listen?",
	} {
		if _, err := parse(lines); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", lines, err, want)
		}
	}
}
