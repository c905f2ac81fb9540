package modelname

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
)

// A GGUF file on the hub is named as in Ollama and llama.cpp: hf.co/owner/name:QUANT, where QUANT is how its weights
// are stored, such as Q4_K_M, which file names end in; or a file's whole name. Without one it is Q4_K_M, or the only
// file.

// defaultQuant is taken when none is named.
const defaultQuant = "Q4_K_M"

// parseHubFile reads such a name: the repository, and what is named in it.
func parseHubFile(name string) (repo, quant string, ok bool) {
	for _, host := range []string{"hf.co/", "huggingface.co/"} {
		if rest, found := strings.CutPrefix(name, host); found {
			repo, quant, named := strings.Cut(rest, ":")
			return repo, quant, hub.IsName(repo) && named == (quant != "")
		}
	}
	return "", "", false
}

func isHubFile(name string) bool {
	_, _, ok := parseHubFile(name)
	return ok
}

// hubFile finds a GGUF file in the hub's cache, or downloads it.
func (f Finder) hubFile(ctx context.Context, name string) (Model, error) {
	repo, quant, _ := parseHubFile(name)
	if f.Hub == nil {
		return Model{}, fmt.Errorf("modelname: %s is on the hub, and only files of this machine are asked for", name)
	}
	var first string
	dir, err := f.Hub.Files(ctx, repo, func(_ context.Context, l hub.Listing) ([]string, error) {
		files, err := chooseGGUF(l.Names, quant)
		if err == nil {
			first = files[0]
		}
		return files, err
	})
	if err != nil {
		return Model{}, err
	}
	return f.file(ctx, filepath.Join(dir, filepath.FromSlash(first)))
}

// chooseGGUF chooses a model among the files of a repository: its parts in order.
func chooseGGUF(names []string, quant string) ([]string, error) {
	var models []string // by the first file
	for _, n := range names {
		if IsModelFile(path.Base(n)) {
			models = append(models, n)
		}
	}
	if len(models) == 0 {
		return nil, errors.New("there is no GGUF file")
	}
	var fit []string
	for _, n := range models {
		if strings.EqualFold(quantOf(n), cmp.Or(quant, defaultQuant)) || quant != "" && isNamed(n, quant) {
			fit = append(fit, n)
		}
	}
	if quant == "" && len(fit) == 0 {
		fit = models
	}
	if len(fit) != 1 {
		var found []string
		for _, n := range models {
			found = append(found, cmp.Or(quantOf(n), path.Base(n)))
		}
		slices.Sort(found)
		what := "no GGUF file of " + quant
		switch {
		case quant == "":
			what = "no GGUF file of " + defaultQuant + " and several others"
		case len(fit) > 1:
			what = fmt.Sprintf("several GGUF files of %s (%s); name one of them whole", quant, strings.Join(fit, ", "))
		}
		return nil, fmt.Errorf("there is %s; name one behind a colon: %s", what,
			strings.Join(slices.Compact(found), ", "))
	}
	return allParts(names, fit[0])
}

// allParts lists the files of a model by its first.
func allParts(names []string, first string) ([]string, error) {
	prefix, _, n, ok := gguf.ParseSplit(first)
	if !ok {
		return []string{first}, nil
	}
	var parts []string
	for i := range n {
		part := gguf.SplitName(prefix, i+1, n)
		if !slices.Contains(names, part) {
			return nil, fmt.Errorf("%s is missing, part %d of %d", part, i+1, n)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// quantRule matches how weights are stored at the end of a file's name.
var quantRule = regexp.MustCompile(`(?i)(?:^|[-._])((?:UD-)?(?:I?Q[1-8]_[0-9A-Z_]+|T?Q[12]_0|MXFP4(?:_MOE)?|` +
	`BF16|F16|F32|FP16|FP32))$`)

// quantOf is how a file's weights are stored, by its name; "" if the name does not say.
func quantOf(file string) string {
	m := quantRule.FindStringSubmatch(fileName(file))
	if m == nil {
		return ""
	}
	return strings.ToUpper(m[1])
}

// isNamed reports whether a text is a file's whole name.
func isNamed(file, text string) bool {
	base := path.Base(file)
	return text == base || text == file || text == fileName(base)
}
