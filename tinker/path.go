package tinker

import "strings"

// Kind is the kind of a checkpoint, a part of its path.
type Kind string

// The two kinds of checkpoint.
const (
	KindState   Kind = "weights"         // weights and optimizer, to train on
	KindSampler Kind = "sampler_weights" // weights to sample from
)

// Path is a checkpoint's address: tinker://<model id>/<kind>/<name>. The name has no slash.
type Path struct {
	ModelID string
	Kind    Kind
	Name    string
}

// String writes the path as the protocol does.
func (p Path) String() string { return "tinker://" + p.ModelID + "/" + string(p.Kind) + "/" + p.Name }

// ParsePath reads a tinker:// path.
func ParsePath(s string) (Path, error) {
	rest, ok := strings.CutPrefix(s, "tinker://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return Path{}, Userf("tinker: checkpoint path %q is not tinker://<model id>/weights|sampler_weights/<name>", s)
	}
	p := Path{ModelID: parts[0], Kind: Kind(parts[1]), Name: parts[2]}
	if p.Kind != KindState && p.Kind != KindSampler {
		return Path{}, Userf("tinker: checkpoint path %q has kind %q; it must be weights or sampler_weights", s, p.Kind)
	}
	return p, CheckName(p.Name)
}

// CheckName refuses checkpoint names that cannot be a file name.
func CheckName(name string) error {
	ok := name != "" && len(name) <= 200 && name != "." && name != ".."
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("._-+=@", r))
	}
	if !ok {
		return Userf("tinker: checkpoint name %q: use 1 to 200 letters, digits and . _ - + = @", name)
	}
	return nil
}
