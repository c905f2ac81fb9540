package gem

import (
	"maps"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// episodeMetrics are the seed's means over episodes, how many were lost and, where there are any, in how many
// turns the context ended the answer (sampler/num_out_of_room) and earlier actions were read in another form
// than they were sampled in (sampler/num_new_sequence).
func episodeMetrics(m monitor.Metrics, episodes []Turns, failed int) {
	sum, turns, tokens := 0.0, 0, 0
	rare := map[string]float64{}
	for _, e := range episodes {
		sum += e.Return()
		turns += len(e)
		for _, turn := range e {
			tokens += turn.ResponseLength()
			for _, name := range []string{outOfRoom, newSequence} {
				if v := turn.Metrics[name]; v > 0 {
					rare["sampler/num_"+name] += v
				}
			}
		}
	}
	n := float64(len(episodes))
	m["sampler/episode_return"] = sum / n
	m["sampler/num_turns_per_episode"] = float64(turns) / n
	m["sampler/action_num_tokens"] = float64(tokens) / n
	m["sampler/num_episodes"] = n
	m["sampler/num_failed_episodes"] = float64(failed)
	maps.Copy(m, rare)
}

// slotOf reads where an episode was played from the name of its turns.
func slotOf(e Turns) (round, index int) {
	a, b, _ := strings.Cut(e[0].EID.Task, "/")
	round, _ = strconv.Atoi(a) // slot.name wrote both
	index, _ = strconv.Atoi(b)
	return round, index
}
