package env

import "sync/atomic"

// mostTold is how many failed episodes the user is told of.
const mostTold = 10

// Failures tells the user of the first failed episodes. The others are only counted, elsewhere.
type Failures struct {
	Tell func(error)
	told atomic.Int32
}

// Add notes a failed episode.
func (f *Failures) Add(err error) {
	if f.told.Add(1) <= mostTold {
		f.Tell(err)
	}
}
