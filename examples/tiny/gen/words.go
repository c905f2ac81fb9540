package main

// The words of the stories. Sentences name the teller {n}, another person {m},
// the things counted {o}, a kind of container {c}, and numbers {x} and {y}.

var names = []string{
	"Anna", "Ben", "Cara", "Dan", "Ella", "Finn", "Gina", "Hugo", "Iris", "Jack", "Kate", "Liam",
	"Mia", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tina", "Umar", "Vera", "Will", "Yara", "Zoe",
}

var objects = []string{
	"apples", "pears", "cookies", "nuts", "books", "coins", "cards", "shells", "stamps", "marbles",
	"pencils", "flowers", "stickers", "beads", "balls", "buttons", "candles", "ribbons", "plums", "muffins",
}

var containers = []string{"boxes", "bags", "baskets", "jars", "packs", "trays"}

// A sentence is a part of a story and the words of the solution that belong to
// it; %s in the solution stands for the equation.
type sentence struct{ text, solution string }

// Openings give the first number, or two numbers to put together.
var (
	hasSome = []string{
		"{n} has {x} {o}.",
		"{n} starts with {x} {o}.",
		"{n} keeps {x} {o} at home.",
		"There are {x} {o} on the table of {n}.",
		"{n} picks {x} {o} in the morning.",
	}
	hasPacked = []sentence{
		{"{n} has {x} {c} with {y} {o} in each.", "The {c} hold %s {o}."},
		{"{n} fills {x} {c} with {y} {o} each.", "The {c} hold %s {o}."},
		{"{n} buys {x} {c}. Each has {y} {o} in it.", "In the {c} there are %s {o}."},
		{"For {x} days {n} makes {y} {o} a day.", "That makes %s {o}."},
	}
	hasTwoKinds = []sentence{
		{"{n} has {x} red {o} and {y} blue {o}.", "Red and blue make %s {o}."},
		{"{n} has {x} {o} and {m} brings {y} more.", "Together that is %s {o}."},
		{"{n} picks {x} {o} on Monday and {y} on Friday.", "The two days give %s {o}."},
	}
)

// Middles change the number of things the teller has.
var (
	gains = []sentence{
		{"Then {n} buys {x} more.", "After buying more there are %s."},
		{"{m} gives {n} {x} more {o}.", "With the gift there are %s."},
		{"{n} finds {x} {o}.", "With those found there are %s."},
		{"Later {n} wins {x} more.", "With those won there are %s."},
		{"{m} adds {x} {o}.", "With those added there are %s."},
	}
	losses = []sentence{
		{"Then {n} loses {x}.", "After the loss %s are left."},
		{"{n} gives {x} to {m}.", "After giving some away %s are left."},
		{"{n} sells {x} of the {o}.", "After the sale %s are left."},
		{"{m} takes {x} of them.", "Then %s are left."},
		{"{x} of the {o} get lost.", "After that %s are left."},
	}
	growths = []sentence{
		{"Then the number grows {x} times.", "It grows to %s."},
		{"Next week {n} has {x} times as many.", "Next week there are %s."},
	}
)

// An ending asks about the story; its fact, if any, comes before the question.
type ending struct{ fact, question, solution string }

var (
	asksCount = []ending{
		{question: "How many {o} does {n} have now?"},
		{question: "How many {o} are there in the end?"},
		{question: "Find the number of {o} that {n} has."},
		{question: "What is the number of {o} now?"},
	}
	asksMore = []ending{
		{"{m} has {x} more than {n}.", "How many {o} does {m} have?", "So {m} has %s."},
	}
	asksFewer = []ending{
		{"{m} has {x} fewer than {n}.", "How many {o} does {m} have?", "So {m} has %s."},
	}
	asksTimes = []ending{
		{"{m} has {x} times as many as {n}.", "How many {o} does {m} have?", "So {m} has %s."},
		{"Each one sells for {x} dollars.", "How many dollars does {n} get?", "They sell for %s dollars."},
	}
	asksShare = []ending{
		{"{x} friends share them equally.", "How many {o} does each friend get?", "Each friend gets %s."},
		{"{n} puts them in {x} equal rows.", "How many {o} are in each row?", "Each row has %s."},
	}
)
