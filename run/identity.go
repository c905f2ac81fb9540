package run

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// openIdentity reads run.json or makes it.
func (b *job) openIdentity() (err error) {
	arithmetic := numericsOf(b.backend)
	if b.identity, err = b.folder().Identity(jobdir.Draw(b.cfg, arithmetic, b.Now())); err != nil {
		return err
	}
	note, err := b.identity.Check(b.cfg, b.dir, arithmetic, string(b.backend.Kind))
	if note != "" {
		fmt.Fprintln(b.Out, "note:", note)
	}
	return err
}

// numericsOf names the arithmetic of the local engine; on a server it is the server's affair.
func numericsOf(backend config.Backend) string {
	if backend.Kind == config.Local {
		return engine.Numerics
	}
	return ""
}

// openProgress makes what tells a person how the run goes.
func (b *job) openProgress() (err error) {
	b.progress, err = console.Open(console.Options{Out: b.Out, Terminal: b.Terminal, Now: b.Now, Dir: b.dir,
		Level: b.cfg.Log.Level})
	if err != nil {
		return err
	}
	b.opened(b.progress.Close)
	return nil
}
