package main

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// distribution is the name on PyPI, as wheels spell it. Trinity-RFT's own package has the name trinity-rft.
const distribution = "trinity_go"

// sources is the package trinity_go, which starts the binary and has nothing to compile.
//
//go:embed python/trinity_go/*.py python/trinity_go/py.typed
var sources embed.FS

// wheel packs the binary as the script trinity of the Python package trinity_go: pip puts it where it puts commands,
// and compiles nothing. One wheel is for every Python from 3.10 on.
//
// Source: https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
func wheel(b binary) (name string, data []byte, err error) {
	version := pythonVersion(b.version)
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return "", nil, err
	}
	stem := distribution + "-" + version
	info := stem + ".dist-info/"
	entries, err := modules()
	if err != nil {
		return "", nil, err
	}
	entries = append(entries, []entry{
		{stem + ".data/scripts/" + b.program(), 0o755, b.data},
		{info + "METADATA", 0o644, []byte(metadata(version))},
		{info + "WHEEL", 0o644, []byte(tags(b.wheel))},
		{info + "licenses/LICENSE", 0o644, licence},
	}...)
	entries = append(entries, entry{info + "RECORD", 0o644, []byte(record(entries, info+"RECORD"))})
	data, err = zipped(entries)
	return stem + "-py3-none-" + b.wheel + ".whl", data, err
}

// modules are the files of the package.
func modules() (entries []entry, err error) {
	err = fs.WalkDir(sources, "python", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := sources.ReadFile(path)
		entries = append(entries, entry{strings.TrimPrefix(path, "python/"), 0o644, data})
		return err
	})
	return entries, err
}

func metadata(version string) string {
	var pythons []string
	for minor := 10; minor <= 14; minor++ {
		pythons = append(pythons, fmt.Sprintf("Classifier: Programming Language :: Python :: 3.%d", minor))
	}
	return strings.Join([]string{"Metadata-Version: 2.4", "Name: " + strings.ReplaceAll(distribution, "_", "-"),
		"Version: " + version,
		"Summary: Reinforcement fine-tuning of language models from one binary, on a CPU or over the Tinker API",
		"License-Expression: Apache-2.0", "License-File: LICENSE", "Requires-Python: >=3.10",
		strings.Join(pythons, "\n"), "Classifier: Typing :: Typed",
		"Description-Content-Type: text/markdown", "",
		"The command `trinity` trains language models with reinforcement learning: it runs the YAML files of",
		"Trinity-RFT, and serves and speaks the Tinker API. It has its own CPU engine. `trinity --help` lists its",
		"commands. The package `trinity_go` starts it from Python, with a function as the reward:", "",
		"    from trinity_go import GRPO",
		"    run = GRPO(model=..., data=[...], reward=lambda completion, answer: float(answer in completion)).train()",
		""}, "\n")
}

// tags is the file WHEEL: one tag for each platform that the name joins with dots.
func tags(platforms string) string {
	text := "Wheel-Version: 1.0\nGenerator: trinity\nRoot-Is-Purelib: false\n"
	for _, p := range strings.Split(platforms, ".") {
		text += "Tag: py3-none-" + p + "\n"
	}
	return text
}

// record lists the files with their SHA-256 and sizes.
func record(entries []entry, self string) (text string) {
	for _, e := range entries {
		sum := sha256.Sum256(e.data)
		text += fmt.Sprintf("%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.data))
	}
	return text + self + ",,\n"
}

// pythonVersion writes a version of Go's form as PEP 440 has it: 0.3.1-0.20261128132156-af992b84c0de, of a commit
// after v0.3.0, is 0.3.1.dev20261128132156, and 0.4.0-rc.1 is 0.4.0rc1.
func pythonVersion(version string) string {
	if m := regexp.MustCompile(`^([0-9.]+)-(?:.*\.)?([0-9]{14})-[0-9a-f]{12}$`).FindStringSubmatch(version); m != nil {
		return m[1] + ".dev" + m[2]
	}
	release, pre, _ := strings.Cut(version, "-")
	return release + strings.ReplaceAll(pre, ".", "")
}
