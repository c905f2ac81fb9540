package curve

import "math"

// Curve is a metric over steps, thinned out: each point covers a range of steps.
type Curve struct {
	Step  []int      `json:"step"`  // the last of the range
	Time  []*float64 `json:"time"`  // Unix seconds; null if it is not known
	Value []float64  `json:"value"` // the mean of the range
	Min   []float64  `json:"min"`
	Max   []float64  `json:"max"`
}

// Thin makes at most points points of values at steps from a first to a last step. at gives a step's time.
func Thin(steps []int, values []float64, points, from, to int, at func(step int) (float64, bool)) Curve {
	c := Curve{Step: []int{}, Time: []*float64{}, Value: []float64{}, Min: []float64{}, Max: []float64{}}
	var kept []int
	for i, s := range steps {
		if s >= from && s <= to {
			kept = append(kept, i)
		}
	}
	points = max(1, points)
	each := max(1, (len(kept)+points-1)/points)
	for len(kept) > 0 {
		n := min(each, len(kept))
		sum, low, high := 0.0, math.Inf(1), math.Inf(-1)
		for _, i := range kept[:n] {
			sum += values[i]
			low, high = min(low, values[i]), max(high, values[i])
		}
		step := steps[kept[n-1]]
		c.Step, c.Value = append(c.Step, step), append(c.Value, sum/float64(n))
		c.Min, c.Max, c.Time = append(c.Min, low), append(c.Max, high), append(c.Time, nil)
		if t, ok := at(step); ok {
			c.Time[len(c.Time)-1] = &t
		}
		kept = kept[n:]
	}
	return c
}
