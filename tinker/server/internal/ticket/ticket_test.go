package ticket

import "testing"

func FuzzParse(f *testing.F) {
	s := &Signer{make([]byte, 32)}
	f.Add(s.Ticket(Train, "m", 1))
	f.Add("x")
	f.Fuzz(func(t *testing.T, ticket string) {
		if kind, id, seq, ok := s.Parse(ticket); ok && s.Ticket(kind, id, seq) != ticket {
			t.Fatalf("%q is also %q", ticket, s.Ticket(kind, id, seq))
		}
	})
}
