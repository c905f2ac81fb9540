package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// The files of an adapter as PEFT has them.
const (
	PEFTConfigFile  = "adapter_config.json"
	PEFTWeightsFile = "adapter_model.safetensors"
)

// PEFTConfig returns the contents of adapter_config.json for l on the base model of that name and configuration.
func (l LoRA) PEFTConfig(base string, c Config) map[string]any {
	config := map[string]any{
		"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base, "inference_mode": true,
		"r": l.Rank, "lora_alpha": l.Alpha, "lora_dropout": 0.0, "bias": "none", "fan_in_fan_out": false,
		"target_modules": l.ModulesOn(c),
	}
	if rank := (target{share: c.Experts.Used}).rank(l.Rank); rank != l.Rank && l.onExperts(c) {
		config["r"], config["rank_pattern"] = rank, map[string]int{besideExperts: l.Rank}
	}
	if c.Frozen != "" {
		config[baseDtypeKey] = c.Frozen
	}
	return config
}

// baseDtypeKey is the key of adapter_config.json that names the dtype of the base's matrices if it is not that of their
// files.
const baseDtypeKey = "trinity_base_dtype"

// CheckBase refuses to use an adapter that was trained on a frozen base on one that is not frozen in the same dtype.
func (a PEFT) CheckBase(frozen string) error {
	if a.Frozen != "" && a.Frozen != frozen {
		return fmt.Errorf("the adapter was trained on base weights in %s (%s), and these are not; use base_dtype %[1]s",
			a.Frozen, baseDtypeKey)
	}
	return nil
}

// peftConfig is the part of adapter_config.json that is read, in addition to refusedPEFT. The modules come from the
// weights.
type peftConfig struct {
	Type     string          `json:"peft_type"`
	Base     string          `json:"base_model_name_or_path"`
	Rank     int             `json:"r"`
	Alpha    float64         `json:"lora_alpha"`
	RSLoRA   bool            `json:"use_rslora"`
	Bias     string          `json:"bias"`
	InitLoRA json.RawMessage `json:"init_lora_weights"`
	Ranks    json.RawMessage `json:"rank_pattern"`
	Alphas   json.RawMessage `json:"alpha_pattern"`
	Dtype    string          `json:"trinity_base_dtype"`
}

// refusedPEFT are keys of unsupported features, which are refused unless they are null, false or empty.
var refusedPEFT = []string{"use_dora", "fan_in_fan_out", "lora_bias", "modules_to_save", "layer_replication",
	"target_parameters", "trainable_token_indices", "alora_invocation_tokens", "use_qalora", "use_bdlora",
	"arrow_config", "velora_config", "kasa_config", "monteclora_config", "ensure_weight_tying"}

// PEFT is an adapter read from a folder in PEFT's format.
type PEFT struct {
	Base    string // the base model's name or path, as the adapter's maker called it
	LoRA    LoRA
	Tensors []Tensor // as NewAdapter takes them
	Frozen  string   // Config.Frozen of the base that it was trained on

	wholeHead bool // the settings name a whole head; see Tied
	patterns  peftPatterns
	experts   LoRA // Rank and Alpha of the factors of experts; see divide
}

// ReadPEFT reads an adapter: adapter_config.json and adapter_model.safetensors of dir, as Python's peft and this
// program write them. The error names the key of an unsupported setting.
func ReadPEFT(dir string) (PEFT, error) {
	path := filepath.Join(dir, PEFTConfigFile)
	data, err := disk.ReadFile(path, disk.SmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return PEFT{}, fmt.Errorf("model: %s has no %s; give the folder of a PEFT adapter: %w", dir, PEFTConfigFile,
			err)
	}
	if err != nil {
		return PEFT{}, fmt.Errorf("model: %w", err)
	}
	a, err := parsePEFT(data)
	if err != nil {
		return PEFT{}, fmt.Errorf("model: %s: %w", path, err)
	}
	if err := a.read(filepath.Join(dir, PEFTWeightsFile)); err != nil {
		return PEFT{}, err
	}
	a.experts = a.LoRA
	if err := a.patterns.even(&a); err != nil {
		return PEFT{}, fmt.Errorf("model: %s: %w", path, err)
	}
	return a, nil
}

func parsePEFT(data []byte) (PEFT, error) {
	var all map[string]json.RawMessage
	var c peftConfig
	if err := errors.Join(json.Unmarshal(data, &all), json.Unmarshal(data, &c)); err != nil {
		return PEFT{}, err
	}
	whole := wholeHead(all["modules_to_save"])
	for _, k := range refusedPEFT {
		if k == "modules_to_save" && whole {
			continue // read checks whether it is a form of a LoRA
		}
		if v, ok := all[k]; ok && !slices.Contains([]string{"null", "false", "{}", "[]"}, string(v)) {
			return PEFT{}, fmt.Errorf("%s = %s is not supported; merge the adapter into its model with peft's "+
				"merge_and_unload and use that model", k, v)
		}
	}
	switch init := string(c.InitLoRA); {
	case c.Type != "LORA":
		return PEFT{}, fmt.Errorf("peft_type = %q is not supported; supported is LORA", c.Type)
	case c.Bias != "" && c.Bias != "none":
		return PEFT{}, fmt.Errorf("bias = %q is not supported; supported is none", c.Bias)
	case strings.HasPrefix(init, `"`) && init != `"gaussian"` && init != `"orthogonal"` && init != `"eva"`:
		return PEFT{}, fmt.Errorf("init_lora_weights = %s changes the base model and is not supported; save the "+
			"adapter converted to an ordinary LoRA", init)
	case !(c.Alpha > 0) || math.IsInf(c.Alpha, 0):
		return PEFT{}, fmt.Errorf("lora_alpha = %v must be positive", c.Alpha)
	}
	a := PEFT{Base: c.Base, LoRA: LoRA{Rank: c.Rank, Alpha: c.Alpha}, Frozen: c.Dtype, wholeHead: whole}
	if !slices.Contains([]string{"", Int8, Int4}, c.Dtype) {
		return PEFT{}, fmt.Errorf("%s = %q is not supported", baseDtypeKey, c.Dtype)
	}
	if err := a.LoRA.check(); err != nil {
		return PEFT{}, err
	}
	var err1, err2 error
	a.patterns.config = c
	a.patterns.rank, err1 = readPatterns("rank_pattern", c.Ranks)
	a.patterns.alpha, err2 = readPatterns("alpha_pattern", c.Alphas)
	if err := errors.Join(err1, err2); err != nil {
		return PEFT{}, err
	}
	if c.RSLoRA { // scaled by Alpha/sqrt(Rank)
		a.LoRA.Alpha *= math.Sqrt(float64(c.Rank))
	}
	return a, nil
}

// read adds the weights and their modules.
func (a *PEFT) read(path string) error {
	f, err := safetensors.Open(path)
	if err != nil {
		if old := strings.TrimSuffix(path, ".safetensors") + ".bin"; exists(old) {
			return fmt.Errorf("model: %w; %s is an older format, save the adapter again with safe_serialization", err,
				old)
		}
		return fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	on := map[string]bool{}
	for _, t := range f.Tensors() {
		name := strings.Replace(t.Name, PEFTPrefix+UnembedName+".", PEFTPrefix+"lm_head.", 1)
		if text, ok := TextName(strings.TrimPrefix(name, PEFTPrefix)); ok && strings.HasPrefix(name, PEFTPrefix) {
			name = PEFTPrefix + text
		}
		module, ok := peftModule(name)
		if !ok {
			if isBaseCopy(t.Name) || a.wholeHead && t.Name == PEFTPrefix+HeadName {
				continue
			}
			return fmt.Errorf("model: %s: tensor %q is not part of a LoRA on %s", path, t.Name,
				strings.Join(ModuleNames(), ", "))
		}
		data, err := t.Floats()
		if err != nil {
			return fmt.Errorf("model: %s: %w", path, err)
		}
		on[module] = true
		a.Tensors = append(a.Tensors, Tensor{name, slices.Clone(t.Shape), data})
	}
	if a.wholeHead && !on["lm_head"] {
		return fmt.Errorf("model: %s: modules_to_save = [\"lm_head\"] is not supported without a LoRA on it", path)
	}
	for _, m := range ModuleNames() {
		if on[m] || on[fusedInput] && slices.Contains(deltaModules[:3], m) {
			a.LoRA.Modules = append(a.LoRA.Modules, m)
		}
	}
	if len(a.Tensors) == 0 {
		return fmt.Errorf("model: %s has no LoRA tensors", path)
	}
	a.LoRA = a.LoRA.grouped()
	return nil
}

// grouped replaces Modules by the equivalent flags, if there are any.
func (l LoRA) grouped() LoRA {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(l.Modules, n) })
	}
	g := LoRA{Rank: l.Rank, Alpha: l.Alpha, Attn: has("q_proj", "k_proj", "v_proj", "o_proj"),
		MLP: has("gate_proj", "up_proj", "down_proj"), Unembed: has("lm_head")}
	if g.Attn && has(deltaModules[:5]...) && !has("in_proj_b") && !has("in_proj_a") { // of a model that has them
		l.Modules = withoutDelta(l.Modules)
	}
	if slices.Equal(g.Targets(), l.Targets()) {
		return g
	}
	return l
}

// peftModule returns the linear to which a tensor of an adapter belongs.
func peftModule(name string) (module string, ok bool) {
	at, isA := strings.CutSuffix(name, ".lora_A.weight")
	if !isA {
		var isB bool
		if at, isB = strings.CutSuffix(name, ".lora_B.weight"); !isB {
			return "", false
		}
	}
	module = at[strings.LastIndexByte(at, '.')+1:]
	known := slices.Contains(ModuleNames(), module) || module == fusedInput
	return module, known && strings.HasPrefix(name, PEFTPrefix)
}

// wholeHead reports whether the head is the only module that is saved whole.
func wholeHead(modules json.RawMessage) bool {
	var names []string
	return json.Unmarshal(modules, &names) == nil && slices.Equal(names, []string{"lm_head"})
}

// isBaseCopy reports whether a tensor is one of the base model's that PEFT saves with an adapter on the head.
func isBaseCopy(name string) bool {
	return strings.HasSuffix(name, ".base_layer.weight") || name == PEFTPrefix+EmbedName
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fit returns the tensors of an adapter by their names, for a model.
func (a PEFT) fit(base string, c Config) (LoRA, map[string][]float32, error) {
	a.Tensors = slices.Clone(a.Tensors)
	a.Fill(c)
	deltas, err := match(a.LoRA.specs(c), a.Tensors)
	if err != nil {
		return LoRA{}, nil, fmt.Errorf("model: the adapter does not fit %s: %w", base, err)
	}
	return a.LoRA, deltas, nil
}

// Pair is the factors of a LoRA on rows of a matrix, from row First on, A [rank, in] and B [rows, rank], and the scale
// of their product.
type Pair struct {
	A, B  []float32
	Scale float32
	First int
}

// Pairs returns the factors of the adapter by the name of the stored matrix, such as model.layers.0.self_attn.q_proj,
// for the model in folder base. A matrix that stacks several modules, in_proj_qkv of a delta rule, has a pair for each.
// Matrices of a module that the adapter leaves out are left out.
func (a PEFT) Pairs(base string, c Config) (map[string][]Pair, error) {
	if _, _, err := a.fit(base, c); err != nil {
		return nil, err
	}
	a.unfuse(c)
	have, pairs := make(map[string][]float32, len(a.Tensors)), map[string][]Pair{}
	for _, t := range a.Tensors {
		have[t.Name] = t.Data
	}
	for _, t := range a.LoRA.targets(c) {
		for i, out := range t.outs {
			name := t.a(i).name
			p := Pair{A: have[name], B: have[t.b(i).name], Scale: float32(a.LoRA.scale())}
			if p.A == nil {
				continue
			}
			if ofExpert(name) {
				p.Scale = float32(a.experts.scale())
			}
			matrix := matrixOf(name)
			if c.Arch.Delta && slices.Contains(deltaModules[:3], out.name) {
				matrix, p.First = t.at+fusedInput, out.col
			}
			pairs[matrix] = append(pairs[matrix], p)
		}
	}
	return pairs, nil
}

// UnembedName is Tinker's name of the head.
const UnembedName = "model.unembed_tokens"
