package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestChooseBackend(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, model, tinker string
		env                 []string
		kind                BackendKind
		url, key, reason    string
	}{
		{"verl", "org/m", "{enable: false, base_url: http://x}", []string{"TINKER_API_KEY=k"}, Local, "", "",
			"model.tinker.enable is false"},
		{"asked local", "org/m", "{enable: true, base_url: local}",
			[]string{"TINKER_API_KEY=k", "TINKER_BASE_URL=http://y"}, Local, "", "", "base_url is local"},
		{"a folder", dir, "{enable: true}", []string{"TINKER_API_KEY=k", "TINKER_BASE_URL=http://y"}, Local, "", "",
			"is a local folder"},
		{"a path", "examples/tiny/model", "{enable: true}", []string{"TINKER_API_KEY=k"}, Local, "", "",
			"is a local folder"},
		{"base model folder", "org/m", "{enable: true, base_model: ./m}", []string{"TINKER_API_KEY=k"}, Local, "", "",
			"is a local folder"},
		{"server for a folder", dir, "{enable: true, base_url: http://x}", nil, Server, "http://x", "",
			"model.tinker.base_url"},
		{"server", "org/m", "{enable: true, base_url: http://x}",
			[]string{"TINKER_BASE_URL=http://y", "TINKER_API_KEY=k"}, Server, "http://x", "TINKER_API_KEY",
			"model.tinker.base_url"},
		{"server of the environment", "org/m", "{enable: true}",
			[]string{"TINKER_BASE_URL=http://y", "TRINITY_API_KEY=k"}, Server, "http://y", "TRINITY_API_KEY",
			"TINKER_BASE_URL"},
		{"hosted", "org/m", "{enable: true}", []string{"TINKER_API_KEY=k", "TRINITY_API_KEY=l"}, Hosted, "",
			"TINKER_API_KEY", "costs money"},
		{"hosted by the guide's key", "org/m", "{enable: true}", []string{"TRINITY_API_KEY=l"}, Hosted, "",
			"TRINITY_API_KEY", "costs money"},
		{"an empty key", "org/m", "{enable: true}", []string{"TINKER_API_KEY="}, Local, "", "", "no server and no key"},
		{"nothing", "org/m", "{enable: true}", nil, Local, "", "", "no server and no key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, base, "model.model_path="+tt.model, "model.tinker="+tt.tinker)
			b, err := ChooseBackend(c, env(tt.env...))
			if err != nil || b.Kind != tt.kind || b.URL != tt.url || b.KeyEnv != tt.key {
				t.Errorf("got %+v, %v", b, err)
			}
			if !strings.Contains(b.Reason, tt.reason) {
				t.Errorf("reason %q, want %q", b.Reason, tt.reason)
			}
		})
	}
}

func TestBackendRefuses(t *testing.T) {
	for _, tt := range []struct{ override, want string }{
		{"model.tinker.rank=0", "give a rank such as 32"},
		{"model.random_init=true", "model.random_init is true"},
		{"model.base_dtype=int8", "model.base_dtype is int8"},
	} {
		c := load(t, base, "model.model_path=org/m", "model.tinker.enable=true", tt.override)
		if _, err := ChooseBackend(c, env("TINKER_API_KEY=k")); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.override, err, tt.want)
		}
		if _, err := ChooseBackend(c, env()); err != nil {
			t.Errorf("%s on the local engine: %v", tt.override, err)
		}
	}
}

func TestLoRA(t *testing.T) {
	attn, mlp := attentionModules(), mlpModules()
	linear := append(attentionModules(), mlp...)
	for _, tt := range []struct {
		model string
		want  LoRA
	}{
		{"{}", LoRA{TrainAttn: true, TrainMLP: true, TrainUnembed: true}},
		{"{lora_configs: [{name: lora, lora_rank: 16, lora_alpha: 64}]}",
			LoRA{16, 64, true, true, false, linear, false}},
		{"{lora_configs: [{target_modules: [q_proj, lm_head]}]}",
			LoRA{32, 32, true, false, true, []string{"q_proj", "lm_head"}, true}},
		{"{lora_configs: [{exclude_modules: [q_proj, k_proj, v_proj, o_proj]}]}",
			LoRA{32, 32, false, true, false, mlp, false}},
		{"{tinker: {enable: true}}", LoRA{32, 32, true, true, true, grouped(true, true, true), false}},
		{"{tinker: {enable: true, rank: 8, train_mlp: false, train_unembed: false}}",
			LoRA{8, 32, true, false, false, attn, false}},
		{"{tinker: {enable: true, rank: 0}}", LoRA{TrainAttn: true, TrainMLP: true, TrainUnembed: true}},
		{"{tinker: {enable: true}, lora_configs: [{lora_rank: 4}]}",
			LoRA{32, 32, true, true, true, grouped(true, true, true), false}},
		{"{lora_configs: [{target_modules: [in_proj_z, q_proj, in_proj_z]}]}",
			LoRA{32, 32, true, false, false, []string{"q_proj", "in_proj_z"}, true}},
	} {
		if got := load(t, base, "model="+tt.model).LoRA(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.model, got, tt.want)
		}
	}
}
