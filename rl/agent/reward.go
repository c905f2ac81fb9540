package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// mostReward is the size of a reward file.
const mostReward = 1 << 20

// readReward reads the file with the reward. found is false if the program wrote none.
func readReward(file string) (part workflow.Part, found bool, err error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return part, false, nil
	}
	if err != nil {
		return part, false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostReward+1))
	if err != nil {
		return part, false, err
	}
	part, err = parseReward(data)
	return part, err == nil, err
}

// parseReward reads a number, or an object with reward and metrics.
func parseReward(data []byte) (part workflow.Part, err error) {
	data = bytes.TrimSpace(data)
	wrong := func(why string) (workflow.Part, error) {
		return workflow.Part{}, fmt.Errorf("the reward file holds %.60q: %s; write a finite number, or {\"reward\": "+
			"1, \"metrics\": {\"accuracy\": 1}}", data, why)
	}
	if len(data) > mostReward {
		return wrong(fmt.Sprintf("it is longer than %d bytes", mostReward))
	}
	if x, err := strconv.ParseFloat(string(data), 64); err == nil {
		if !experience.Finite(x) {
			return wrong("it is not finite")
		}
		return workflow.Part{Reward: x}, nil
	}
	var in struct {
		Reward  *float64           `json:"reward"`
		Metrics map[string]float64 `json:"metrics"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return wrong(err.Error())
	}
	if in.Reward == nil {
		return wrong("there is no reward")
	}
	return workflow.Part{Reward: *in.Reward, Metrics: in.Metrics}, nil
}
