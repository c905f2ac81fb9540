package model

import (
	"fmt"
	"slices"
	"strings"
)

// windows reads which layers slide, of families other than Gemma. A window as long as the model's context is none.
func (h *hfConfig) windows(c *Config) error {
	const supported = "only full attention is computed for such a model; choose one without a sliding window"
	for _, t := range h.LayerTypes {
		if t != "full_attention" && (t != "sliding_attention" || !h.wide() && c.Arch.Windows == noWindows) {
			return fmt.Errorf("layer_types = %q is not supported; %s", h.LayerTypes, supported)
		}
	}
	// has a window for the upper layers that is unused unless it is switched on
	qwen := strings.HasPrefix(c.Arch.Type, "qwen")
	switch {
	case h.wide():
		return nil
	case c.Arch.Windows != noWindows:
		return h.slide(c)
	case len(h.LayerTypes) > 0:
		return nil
	case qwen && h.UseSliding && (h.WindowLayers == nil || *h.WindowLayers < h.Layers):
		return fmt.Errorf("use_sliding_window = true with sliding_window = %d is not supported; %s", *h.Sliding,
			supported)
	case !qwen:
		return fmt.Errorf("sliding_window = %d is not supported for %s; %s", *h.Sliding, c.Arch.Name, supported)
	}
	return nil
}

// slide gives the layers their windows.
func (h *hfConfig) slide(c *Config) error {
	if *h.Sliding < 1 {
		return fmt.Errorf("sliding_window = %d must be positive", *h.Sliding)
	}
	sliding := make([]bool, h.count())
	for l := range sliding {
		sliding[l] = c.Arch.Windows != chosenWindow || h.UseSliding && c.unrotated(l)
	}
	if types := h.LayerTypes; len(types) > 0 && c.Arch.Windows != allSlide { // transformers reads none there
		if len(types) != len(sliding) {
			return fmt.Errorf("layer_types has %d kinds for num_hidden_layers = %d", len(types), h.Layers)
		}
		for l := range sliding {
			sliding[l] = types[l] == "sliding_attention" && (c.Arch.Windows == typesSlide || h.UseSliding)
		}
	}
	if slices.Contains(sliding, true) {
		c.Sliding, c.Window = sliding, *h.Sliding
	}
	return nil
}

// count is the number of layers, if that is a number of layers at all; check refuses others.
func (h *hfConfig) count() int { return min(max(0, h.Layers), 1<<16) }

// wide reports whether no window is narrower than the model's context.
func (h *hfConfig) wide() bool { return h.Sliding == nil || h.MaxPos > 0 && *h.Sliding >= h.MaxPos }

// defaultWindow sets the window that transformers takes where sliding_window is missing and a family's layers may
// slide.
func (h *hfConfig) defaultWindow(a Arch) {
	if a.Type == "mistral" || a.Type == "ministral" || strings.HasPrefix(a.Type, "qwen") && !a.Delta && h.UseSliding {
		window := 4096
		h.Sliding = &window
	}
}

// unrotated reads the layers without RoPE: those of which no_rope_layers has 0, or every so many.
func (h *hfConfig) unrotated(c *Config) error {
	list := make([]bool, h.count())
	switch n := h.NoRoPEEvery; {
	case !c.Arch.NoRoPE:
	case h.NoRoPE != nil:
		if len(h.NoRoPE) != len(list) {
			return fmt.Errorf("no_rope_layers has %d layers for num_hidden_layers = %d", len(h.NoRoPE), h.Layers)
		}
		for l, rotated := range h.NoRoPE {
			list[l] = rotated == 0
		}
	case h.Positions == "none":
		for l := range list {
			list[l] = true
		}
	case n < 0:
		return fmt.Errorf("no_rope_layer_interval = %d must be positive", n)
	case n > 0:
		for l := range list {
			list[l] = (l+1)%n == 0
		}
	}
	if slices.Contains(list, true) {
		c.Unrotated = list
	}
	return nil
}

// slides and unrotated report whether layer l attends to a window, and whether it does not rotate.
func (c Config) slides(l int) bool    { return c.Sliding != nil && c.Sliding[l] }
func (c Config) unrotated(l int) bool { return c.Unrotated != nil && c.Unrotated[l] }
