package game

import "github.com/seed-d9ad8ee0/trinity/env"

const drawn = env.Drawn

// Table lists the games: upstream's ids with upstream's parameters, then the ids that its documents use.
func Table() []env.Spec {
	return []env.Spec{
		{ID: "game:GuessTheNumber-v0-easy", New: newGuessTheNumber, Params: guessing(1, 10, 4)},
		{ID: "game:GuessTheNumber-v0-hard", New: newGuessTheNumber, Params: guessing(1, 50, 7)},
		{ID: "game:GuessTheNumber-v0-random", New: newGuessTheNumber, Params: guessing(drawn, drawn, drawn)},
		{ID: "game:Mastermind-v0-easy", New: newMastermind, Params: code(2, 6, 10)},
		{ID: "game:Mastermind-v0-hard", New: newMastermind, Params: code(4, 8, 30)},
		{ID: "game:Mastermind-v0-random", New: newMastermind, Params: code(drawn, drawn, drawn)},
		{ID: "game:Minesweeper-v0-easy", New: newMinesweeper, Params: mines(5, 5, 5, 25)},
		{ID: "game:Minesweeper-v0-hard", New: newMinesweeper, Params: mines(8, 8, 12, 64)},
		{ID: "game:Minesweeper-v0-random", New: newMinesweeper, Params: mines(drawn, drawn, drawn, drawn)},

		{ID: "game:GuessTheNumber-v0", New: newGuessTheNumber, Params: guessing(1, 20, 10), Note: old},
		{ID: "game:GuessTheNumber-v0-hard-no-max-turn", New: newGuessTheNumber, Params: guessing(1, 50, 50), Note: old},
		{ID: "game:Mastermind-v0", New: newMastermind, Params: code(4, 6, 20), Note: old},
		{ID: "game:Minesweeper-v0", New: newMinesweeper, Params: mines(8, 8, 10, 100), Note: old},
		{ID: "game:Minesweeper-v0-very-easy", New: newMinesweeper, Params: mines(3, 3, 1, 10), Note: old},
	}
}

// old remarks the ids that upstream dropped from its registry and kept in its documents.
const old = "as before GEM 0.1"

func guessing(lo, hi, turns int) env.Params {
	return env.Params{"min_number": lo, "max_number": hi, "max_turns": turns}
}

func code(length, numbers, turns int) env.Params {
	return env.Params{"code_length": length, "num_numbers": numbers, "max_turns": turns, "duplicate_numbers": 0}
}

func mines(rows, cols, mines, turns int) env.Params {
	return env.Params{"rows": rows, "cols": cols, "num_mines": mines, "max_turns": turns, "must_flag": 1}
}
