package buffer

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
)

// DataSet feeds a trainer that has no explorer, and gives Samples the expert's data that it mixes in.
type DataSet struct{ *supervised.Examples }

// Read implements trainer.Source. n rows are a batch, which of pairs has twice as many experiences.
func (d DataSet) Read(_ context.Context, _, n int) ([]*experience.Experience, error) {
	list, err := d.Next()
	if err == nil && len(list) < n {
		return nil, dataset.ErrEnd
	}
	return list, err
}

// Position implements trainer.Source: how many rows were read.
func (d DataSet) Position() Position { return Position{Count: d.Reader.State().CurrentIndex} }
