package main

import "github.com/seed-d9ad8ee0/trinity/rl/env/game"

// playing teaches three short games.
func playing() (course, error) {
	data, err := game.Shipped()
	if err != nil {
		return course{}, err
	}
	return course{
		rows: 20_000, vocab: 1024, shown: 6000, numbers: 20,
		ids: []string{"game:FifteenPuzzle-v0-easy", "game:TowerofHanoi-v0-easy", "game:Hangman-v0-easy"},
		good: map[string]teacher{"FifteenPuzzle": fifteenTeacher, "TowerofHanoi": hanoiTeacher,
			"Hangman": hangmanTeacher(data.Basic(3))},
	}, nil
}
