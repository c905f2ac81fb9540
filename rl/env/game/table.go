package game

import "github.com/seed-d9ad8ee0/trinity/rl/env"

const drawn = env.Drawn

// Table lists the games: upstream's ids with upstream's parameters, then the ids that its documents use. The word games
// draw from the lists of d.
func Table(d *Data) []env.Spec {
	sokoban := newSokoban(newDiggers())
	wordle, hangman := newWordle(d.basic), newHangman(d.basic, d.english)
	wikiGame := newWikiGame(d.wiki)
	crosswords, wordSearch := newCrosswords(d.clues), newWordSearch(d.basic, d.english)
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
		{ID: "game:FifteenPuzzle-v0-easy", New: newFifteenPuzzle, Params: tiles(2, 10)},
		{ID: "game:FifteenPuzzle-v0-hard", New: newFifteenPuzzle, Params: tiles(4, 50)},
		{ID: "game:FifteenPuzzle-v0-random", New: newFifteenPuzzle, Params: tiles(drawn, drawn)},
		{ID: "game:Sudoku-v0-easy", New: newSudoku, Params: grid(4, 10, 15)},
		{ID: "game:Sudoku-v0-hard", New: newSudoku, Params: grid(9, 50, 50)},
		{ID: "game:Sudoku-v0-random", New: newSudoku, Params: grid(drawn, drawn, drawn)},
		{ID: "game:TowerofHanoi-v0-easy", New: newTowerOfHanoi, Params: hanoi(3, 10)},
		{ID: "game:TowerofHanoi-v0-hard", New: newTowerOfHanoi, Params: hanoi(5, 35)},
		{ID: "game:TowerofHanoi-v0-random", New: newTowerOfHanoi, Params: hanoi(drawn, drawn)},
		{ID: "game:Game2048-v0-easy", New: newGame2048, Params: merging(64, 50)},
		{ID: "game:Game2048-v0-hard", New: newGame2048, Params: merging(512, 50)},
		{ID: "game:Game2048-v0-extreme-hard", New: newGame2048, Params: merging(2048, 100)},
		{ID: "game:Game2048-v0-random", New: newGame2048, Params: merging(drawn, drawn)},
		{ID: "game:Sokoban-v0-easy", New: sokoban, Params: pushing(6, 2, 20)},
		{ID: "game:Sokoban-v0-hard", New: sokoban, Params: pushing(8, 4, 50)},
		{ID: "game:Sokoban-v0-random", New: sokoban, Params: pushing(drawn, drawn, drawn)},
		{ID: "game:Wordle-v0-easy", New: wordle, Params: word(3, 15), Needs: listed},
		{ID: "game:Wordle-v0-hard", New: wordle, Params: word(5, 25), Needs: listed},
		{ID: "game:Wordle-v0-random", New: wordle, Params: word(drawn, drawn), Needs: listed},
		{ID: "game:Hangman-v0-easy", New: hangman, Params: hanging(3, 10), Needs: listed},
		{ID: "game:Hangman-v0-hard", New: hangman, Params: hanging(7, 20), Needs: listed},
		{ID: "game:Hangman-v0-random", New: hangman, Params: hanging(drawn, drawn), Needs: listed},
		{ID: "game:Crosswords-v0-easy", New: crosswords, Params: words(3, 30, 0), Needs: clued},
		{ID: "game:Crosswords-v0-hard", New: crosswords, Params: words(3, 40, 1), Needs: clued},
		{ID: "game:Crosswords-v0-random", New: crosswords, Params: words(drawn, drawn, drawn), Needs: clued},
		{ID: "game:WordSearch-v0-easy", New: wordSearch, Params: words(5, 20, 0), Needs: listed},
		{ID: "game:WordSearch-v0-hard", New: wordSearch, Params: words(5, 20, 1), Needs: listed},
		{ID: "game:WordSearch-v0-random", New: wordSearch, Params: words(drawn, drawn, drawn), Needs: listed},
		{ID: "game:WikiGame-v0-easy", New: wikiGame, Params: linking(30), Needs: dumped},
		{ID: "game:WikiGame-v0-hard", New: wikiGame, Params: linking(15), Needs: dumped},

		{ID: "game:GuessTheNumber-v0", New: newGuessTheNumber, Params: guessing(1, 20, 10), Note: old},
		{ID: "game:GuessTheNumber-v0-hard-no-max-turn", New: newGuessTheNumber, Params: guessing(1, 50, 50), Note: old},
		{ID: "game:Mastermind-v0", New: newMastermind, Params: code(4, 6, 20), Note: old},
		{ID: "game:Minesweeper-v0", New: newMinesweeper, Params: mines(8, 8, 10, 100), Note: old},
		{ID: "game:Minesweeper-v0-very-easy", New: newMinesweeper, Params: mines(3, 3, 1, 10), Note: old},
		{ID: "game:FifteenPuzzle-v0", New: newFifteenPuzzle, Params: tiles(3, 20), Note: old},
		{ID: "game:Sudoku-v0", New: newSudoku, Params: grid(9, 50, 50), Note: old},
		{ID: "game:TowerofHanoi-v0", New: newTowerOfHanoi, Params: hanoi(4, 20), Note: old},
		{ID: "game:Wordle-v0", New: wordle, Params: word(5, 15), Needs: listed, Note: old},
		{ID: "game:Hangman-v0", New: hangman, Params: hanging(5, 15), Needs: listed, Note: old},
	}
}

// old remarks the ids that upstream dropped from its registry and kept in its documents.
const old = "as before GEM 0.1"

// What upstream's episodes of the word games need; without it the shipped lists are used.
const (
	listed = "for upstream's episodes: NLTK's word lists"
	dumped = "wiki.jsonl, a dump of an encyclopedia"
	clued  = "for upstream's episodes: GEM's clue list"
)

func guessing(lo, hi, turns int) env.Params {
	return env.Params{"min_number": lo, "max_number": hi, "max_turns": turns}
}

func code(length, numbers, turns int) env.Params {
	return env.Params{"code_length": length, "num_numbers": numbers, "max_turns": turns, "duplicate_numbers": 0}
}

func mines(rows, cols, mines, turns int) env.Params {
	return env.Params{"rows": rows, "cols": cols, "num_mines": mines, "max_turns": turns, "must_flag": 1}
}

func tiles(rows, turns int) env.Params {
	return env.Params{"num_rows": rows, "max_turns": turns, "pure_random": 0}
}

func grid(scale, clues, turns int) env.Params {
	return env.Params{"scale": scale, "clues": clues, "max_turns": turns}
}

func hanoi(disks, turns int) env.Params { return env.Params{"num_disks": disks, "max_turns": turns} }

func merging(target, turns int) env.Params {
	return env.Params{"target_tile": target, "max_turns": turns, "board_size": 4}
}

func pushing(side, boxes, turns int) env.Params {
	return env.Params{"dim_room": side, "num_boxes": boxes, "max_turns": turns}
}

func word(length, turns int) env.Params {
	return env.Params{"word_length": length, "max_turns": turns, "only_real_words": 1}
}

func hanging(length, turns int) env.Params {
	return env.Params{"word_length": length, "max_turns": turns, "hardcore": 0}
}

func words(n, turns, hard int) env.Params {
	return env.Params{"num_words": n, "max_turns": turns, "hardcore": hard}
}

func linking(turns int) env.Params {
	return env.Params{"max_turns": turns, "variant": noRegrets, "page_summary_length": 100}
}
