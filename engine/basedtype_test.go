package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// refused fails unless err names what is wrong.
func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want an error with %q", what, err, want)
	}
}

// A folder keeps the base dtype that it was begun with, whose name its arithmetic ends with.
func TestFolderKeepsItsBaseDtype(t *testing.T) {
	for begun, other := range map[string]string{BaseInt8: BaseBF16, BaseInt4: BaseInt8, BaseBF16: BaseInt4} {
		o := Options{Dir: t.TempDir(), BaseDtype: begun}
		id, want := open(t, o).NumericsID(), NewNumerics()
		if begun != BaseBF16 {
			want += "-" + begun
		}
		if id != want {
			t.Errorf("numerics %s, want %s", id, want)
		}
		o.BaseDtype = ""
		if again := open(t, o).NumericsID(); again != id {
			t.Errorf("%s, opened again: numerics %s, want %s", begun, again, id)
		}
		for dtype, want := range map[string]string{other: "was begun with base weights in " + begun,
			"int3": `"int3" is unknown; use bf16, int8, int4 or auto`} {
			o.BaseDtype = dtype
			_, err := Open(o)
			refused(t, dtype, err, want)
		}
	}
}

// An adapter is not used on base weights of another dtype than it was trained on, and frozen weights are not trained.
func TestAdaptersKeepTheirBaseDtype(t *testing.T) {
	for begun, other := range map[string]string{BaseInt8: BaseBF16, BaseInt4: BaseInt8} {
		t.Run(begun, func(t *testing.T) { adaptersKeep(t, begun, other) })
	}
}

func adaptersKeep(t *testing.T, begun, other string) {
	o := Options{Dir: t.TempDir(), BaseDtype: begun,
		Models: map[string]Model{baseName: {Dir: writeModel(t, true, true)}}}
	e := open(t, o)
	_, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{SessionID: "all", BaseModel: baseName})
	refused(t, "rank 0", err, "frozen in "+begun)
	run := create(t, e, 0, lora(4))
	if info, err := run.Info(testContext(t)); err != nil || info.BaseDtype != begun {
		t.Errorf("the model says that its base is in %q (%v), want %s", info.BaseDtype, err, begun)
	}
	f, err := run.SaveState(testContext(t), tinker.SaveRequest{Name: "here"})
	path := value(t, f, err).Path
	folder, err := e.Folder(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.ImportPEFT(baseName, folder, "m", "n"); err != nil {
		t.Errorf("on %s: %v", begun, err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(o.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, orderFile)); err != nil {
		t.Fatal(err)
	}
	e = open(t, Options{Dir: dir, Models: o.Models, BaseDtype: other})
	trained := "was trained on base weights in " + begun
	_, err = e.CreateModelFromState(testContext(t), tinker.CreateFromStateRequest{SessionID: "again", Path: path})
	refused(t, "the state on "+other, err, trained)
	_, err = e.SamplingClient(testContext(t), tinker.SamplingClientRequest{ModelPath: path})
	refused(t, "sampling on "+other, err, trained)
	_, err = e.ImportPEFT(baseName, folder, "m", "n")
	refused(t, "the adapter on "+other, err, trained)
	a, err := ReadAdapter(folder)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Merge(o.Models[baseName].Dir, a, filepath.Join(t.TempDir(), "merged"), "")
	refused(t, "merging", err, "cannot be merged")
}

// auto chooses int8 where bf16 weights exceed half of the memory, and keeps what a folder was begun with.
func TestAutoBaseDtype(t *testing.T) {
	model, dir := writeModel(t, true, true), t.TempDir()
	d, err := Describe(model)
	if err != nil {
		t.Fatal(err)
	}
	bf16, int8 := d.config.WeightBytes(), d.InBase(BaseInt8).config.WeightBytes()
	if int4 := d.InBase(BaseInt4).config.WeightBytes(); int4 >= int8 || int8 >= bf16 { // rows are filled up to 64
		t.Errorf("the weights take %d bytes in int4, %d in int8, %d in bf16", int4, int8, bf16)
	}
	for _, tt := range []struct {
		memory int64
		want   string
	}{{0, BaseBF16}, {2 * bf16, BaseBF16}, {2*bf16 - 1, BaseInt8}} {
		if got, err := ChooseBaseDtype(BaseAuto, dir, tt.memory, model); err != nil || got != tt.want {
			t.Errorf("%d bytes: %s, %v; want %s", tt.memory, got, err, tt.want)
		}
	}
	begin(t, dir, NewNumerics()+"-int8")
	if got, err := ChooseBaseDtype(BaseAuto, dir, 0, model); err != nil || got != BaseInt8 {
		t.Errorf("a folder in int8: %s, %v", got, err)
	}
}

// A gpt-oss in MXFP4 stays so where its matrices in bf16 would be put in int8, which takes more memory.
func TestAutoKeepsMXFP4(t *testing.T) {
	const sizes = `"architectures": ["GptOssForCausalLM"], "num_hidden_layers": 24, "num_local_experts": 32`
	for keys, want := range map[string]string{sizes: BaseInt8,
		sizes + `, "quantization_config": {"quant_method": "mxfp4"}`: BaseBF16} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "config.json"), []byte("{"+keys+"}"))
		if got, err := ChooseBaseDtype(BaseAuto, t.TempDir(), 24<<30, dir); err != nil || got != want {
			t.Errorf("{%s}: %s, %v; want %s", keys, got, err, want)
		}
	}
}
