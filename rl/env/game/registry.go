package game

import (
	"fmt"
	"os"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Registry returns all environments. Games that draw from words, clues or an encyclopedia find them in the folder data
// (see [Load]). If a list is not there, or data is "", the program's own is used.
func Registry(data string) (*env.Registry, error) {
	words, err := Shipped()
	if data != "" {
		if st, serr := os.Stat(data); serr != nil || !st.IsDir() {
			return nil, fmt.Errorf("game: the data folder %s is not there; name a folder with en-basic, en, "+
				"words_clues.jsonl or wiki.jsonl, or none", data)
		}
		words, err = Load(os.DirFS(data))
	}
	if err != nil {
		return nil, err
	}
	return env.NewRegistry(Table(words))
}
