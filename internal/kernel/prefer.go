package kernel

func preferred(s *Set) *Set { return s }
