package client

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// serverConfig is the server's settings; a field that the server leaves out keeps the SDK's default.
type serverConfig struct {
	ExchangeKey   bool   `json:"pjwt_auth_enabled"`
	KeySource     string `json:"credential_default_source"`
	Compress      bool   `json:"proto_compress_fwdbwd"`
	ChunkDatums   int    `json:"fwdbwd_max_chunk_len"`
	ChunkBytes    int    `json:"fwdbwd_max_chunk_bytes_count"`
	BillingPause  int    `json:"billing_exception_max_pause_duration_sec"`
	Samples       int64  `json:"sample_max_concurrent_requests"`
	DispatchBytes int64  `json:"sample_dispatch_bytes_semaphore_size"`
	CreateByLoad  bool   `json:"create_model_via_load_weights"`
}

func defaultConfig() serverConfig {
	lim := tinker.DefaultLimits()
	return serverConfig{ChunkDatums: lim.Datums, ChunkBytes: lim.Bytes, BillingPause: 3600, Samples: 2000,
		DispatchBytes: 10 << 20}
}

// readConfig requests the settings, and gets a token if they require one.
func (c *Client) readConfig(ctx context.Context) error {
	c.config = defaultConfig()
	r, err := post("/client/config", wire.ClientConfigRequest{SDKVersion: sdkVersion})
	if err != nil {
		return err
	}
	r.anonymous = true
	if err := c.into(ctx, r, &c.config); err != nil {
		return err
	}
	if c.config.ChunkDatums < 1 || c.config.ChunkBytes < 1 || c.config.Samples < 1 || c.config.DispatchBytes < 1 {
		return serverf("client: %s returned limits below 1: %+v", c.base, c.config)
	}
	if c.config.ExchangeKey {
		return c.exchange(ctx, window)
	}
	return nil
}
