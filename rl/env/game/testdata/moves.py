"""Moves for GEM's games, drawn by a generator of one's own. traces.py plays them."""


def action(e, name, r):
    """A move for the game; now and then something that is none."""
    if r.random() < 0.02:
        return r.choice(["nothing", "\\boxed{}", "\\boxed{0}", "\\boxed{x", "\\boxed{1,2}", "\\boxed {1}", "\\boxed{UP}", "\\BOXED{up}"])
    a = move(e, name, r)
    if r.random() < 0.1:
        a = move(e, name, r) + " or rather " + a + "."
    return a


def move(e, name, r):
    boxed = lambda *xs: "\\boxed{" + " ".join(map(str, xs)) + "}"
    if name == "GuessTheNumber":
        return boxed(r.randint(e.min_number, e.max_number + (r.random() < 0.1) * 20))
    if name == "Mastermind":
        n = e.code_length + (r.random() < 0.05)
        return boxed(*(r.randint(1, e.num_numbers + (r.random() < 0.02)) for _ in range(n)))
    if name == "Minesweeper":
        where = r.randint(0, e.rows - (r.random() > 0.05)), r.randint(0, e.cols - (r.random() > 0.05))
        verb = r.choice(["reveal"] * 6 + ["flag"] * 5 + ["Reveal", "open"])
        grid = getattr(e, "grid", None)
        if not e.first_reveal and r.random() < 0.9 and where[0] < e.rows and where[1] < e.cols:
            verb = "flag" if grid[where[0]][where[1]] == -1 else "reveal"
        return boxed(verb, *where)
    if name == "Sudoku":
        n = e.scale
        where = r.randint(1, n + (r.random() < 0.03)), r.randint(1, n)
        if where[0] <= n and r.random() < 0.7:
            return boxed(*where, e.full_grid[where[0] - 1][where[1] - 1])
        return boxed(*where, r.randint(0, n + 1))
    if name == "TowerofHanoi":
        return boxed(r.choice(["A B", "A C", "B A", "B C", "C A", "C B", "AC", "a, b", "A A", "A  ,C"]))
    if name == "Wordle":
        word = r.choice(e.available_words)
        if r.random() < 0.1:
            word = r.choice(["zz zz", "a b c", "qwxyz", "hello there", e.secret_word])
        return boxed(word)
    if name == "Hangman":
        if r.random() < 0.7:
            return boxed(r.choice(e.secret_word + "abcdefghijklmnopqrstuvwxyz"))
        return boxed(r.choice([r.choice(e.available_words), e.secret_word.lower() if r.random() < 0.3 else "word"]))
    if name == "Crosswords":
        n = len(e.solution)
        cells = [(i, j) for i in range(n) for j in range(n) if e.solution[i][j] != "."]
        i, j = r.choice(cells) if r.random() < 0.9 else (r.randint(0, n), r.randint(0, n))
        if i < n and j < n and r.random() < 0.7 and e.solution[i][j] != ".":
            return boxed(i, j, e.solution[i][j])
        return boxed(i, j, r.choice("abcXYZ"))
    if name == "WordSearch":
        n = len(e.game_board)
        claimed = e.__dict__.setdefault("claimed", set())
        while True:
            if r.random() < 0.4:
                word, (i, j, way) = r.choice(sorted(e.placed_words.items()))
                k = len(word) - 1
                a = [i, j, i + k, j] if way == "down" else [i, j, i, j + k]
                a = a[2:] + a[:2] if r.random() < 0.3 else a
            else:
                a = [r.randint(0, n - 1 + (r.random() < 0.02)) for _ in range(4)]
                a[2] = a[0] if r.random() < 0.7 else a[2]
            ends = tuple(sorted([tuple(a[:2]), tuple(a[2:])]))
            if ends not in claimed:  # GEM pays a word again from its other end
                claimed.add(ends)
                return boxed(*a)
    return boxed(r.choice(["up", "down", "left", "right"] + ["Up"] * (r.random() < 0.1)))
