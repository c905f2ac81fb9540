package gguf

import "fmt"

// Type is how the elements of a tensor are stored, by ggml's number.
type Type uint32

// The types that are read.
const (
	F32   Type = 0
	F16   Type = 1
	Q4_0  Type = 2
	Q4_1  Type = 3
	Q5_0  Type = 6
	Q5_1  Type = 7
	Q8_0  Type = 8
	Q2_K  Type = 10
	Q3_K  Type = 11
	Q4_K  Type = 12
	Q5_K  Type = 13
	Q6_K  Type = 14
	IQ4NL Type = 20
	IQ4XS Type = 23
	BF16  Type = 30
	MXFP4 Type = 39
)

// layout is how a type stores its elements: blocks of n elements in size bytes.
type layout struct {
	name    string
	n, size int64
	widen   func(to []float32, block []byte) // one block; nil for a type that is not read
}

// layouts are the types by number (ggml.h of llama.cpp 0c1e57098). A number that is not here is unknown; one without
// widen is known and not read.
func layouts(t Type) (layout, bool) {
	switch t {
	case F32:
		return layout{"F32", 1, 4, widenF32}, true
	case F16:
		return layout{"F16", 1, 2, widenF16}, true
	case BF16:
		return layout{"BF16", 1, 2, widenBF16}, true
	case Q4_0:
		return layout{"Q4_0", 32, 18, widenQ40}, true
	case Q4_1:
		return layout{"Q4_1", 32, 20, widenQ41}, true
	case Q5_0:
		return layout{"Q5_0", 32, 22, widenQ50}, true
	case Q5_1:
		return layout{"Q5_1", 32, 24, widenQ51}, true
	case Q8_0:
		return layout{"Q8_0", 32, 34, widenQ80}, true
	case Q2_K:
		return layout{"Q2_K", 256, 84, widenQ2K}, true
	case Q3_K:
		return layout{"Q3_K", 256, 110, widenQ3K}, true
	case Q4_K:
		return layout{"Q4_K", 256, 144, widenQ4K}, true
	case Q5_K:
		return layout{"Q5_K", 256, 176, widenQ5K}, true
	case Q6_K:
		return layout{"Q6_K", 256, 210, widenQ6K}, true
	case IQ4NL:
		return layout{"IQ4_NL", 32, 18, widenIQ4NL}, true
	case IQ4XS:
		return layout{"IQ4_XS", 256, 136, widenIQ4XS}, true
	case MXFP4:
		return layout{"MXFP4", 32, 17, widenMXFP4}, true
	}
	name, known := unread()[t]
	return layout{name: name}, known
}

// unread are the types that are known and not read.
func unread() map[Type]string {
	return map[Type]string{4: "Q4_2 (removed)", 5: "Q4_3 (removed)", 9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS",
		18: "IQ3_XXS", 19: "IQ1_S", 21: "IQ3_S", 22: "IQ2_S", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
		29: "IQ1_M", 31: "Q4_0_4_4 (removed)", 32: "Q4_0_4_8 (removed)", 33: "Q4_0_8_8 (removed)", 34: "TQ1_0",
		35: "TQ2_0", 36: "IQ4_NL_4_4 (removed)", 37: "IQ4_NL_4_8 (removed)", 38: "IQ4_NL_8_8 (removed)", 40: "NVFP4",
		41: "Q1_0", 42: "Q2_0"}
}

// String is the type's name in llama.cpp.
func (t Type) String() string {
	if l, known := layouts(t); known {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}
