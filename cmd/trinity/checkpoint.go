package main

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// checkpointCmd has the operations on a server's checkpoints.
type checkpointCmd struct {
	List   checkpointList   `cmd:"" help:"List checkpoints, newest first."`
	Info   checkpointInfo   `cmd:"" help:"Describe a checkpoint."`
	Export checkpointExport `cmd:"" help:"Download a checkpoint as a PEFT adapter."`
	Delete checkpointDelete `cmd:"" help:"Delete checkpoints."`
	SetTTL checkpointTTL    `cmd:"" name:"set-ttl" help:"Set when a checkpoint expires."`
}

type checkpointList struct {
	remote
	Of    string `name:"run" help:"Only of this training run." placeholder:"ID"`
	Limit int    `help:"The most to list." default:"100"`
}

// Run implements the command.
func (c *checkpointList) Run(s *surroundings) error {
	return with(s, &c.remote, func(ctx context.Context, t *client.Client) error {
		var list []wire.Checkpoint
		var err error
		if c.Of != "" {
			list, err = t.Checkpoints(ctx, c.Of)
		} else {
			var all wire.Checkpoints
			all, err = t.AllCheckpoints(ctx, c.Limit, 0)
			list = all.Checkpoints
		}
		if err != nil {
			return err
		}
		var rows []string
		for _, k := range list {
			rows = append(rows, checkpointRow(k))
		}
		return c.show(s, list, checkpointHead, rows)
	})
}

const checkpointHead = "PATH\tTYPE\tSIZE\tSAVED\tEXPIRES\tPUBLIC"

func checkpointRow(k wire.Checkpoint) string {
	size, ends := "-", "never"
	if k.SizeBytes != nil {
		size = fmt.Sprintf("%.1f MB", float64(*k.SizeBytes)/1e6)
	}
	if k.ExpiresAt != nil {
		ends = k.ExpiresAt.Local().Format(time.DateTime)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%v", k.TinkerPath, k.CheckpointType, size, ago(k.Time), ends, k.Public)
}

type checkpointInfo struct {
	remote
	Path string `arg:"" help:"tinker://…"`
}

// Run implements the command.
func (c *checkpointInfo) Run(s *surroundings) error {
	return with(s, &c.remote, func(ctx context.Context, t *client.Client) error {
		info, err := t.WeightsInfo(ctx, c.Path)
		if err != nil {
			return err
		}
		row := fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", c.Path, info.BaseModel, pointed(info.LoRARank),
			pointed(info.TrainAttn), pointed(info.TrainMLP), pointed(info.TrainUnembed))
		return c.show(s, info, "PATH\tBASE MODEL\tRANK\tATTENTION\tMLP\tUNEMBEDDING", []string{row})
	})
}

func pointed[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

type checkpointDelete struct {
	remote
	Paths []string `arg:"" help:"tinker://…"`
	Yes   bool     `short:"y" help:"Confirm the deletion."`
}

// Run implements the command.
func (c *checkpointDelete) Run(s *surroundings) error {
	if !c.Yes {
		return usageError{fmt.Errorf("checkpoint delete: this deletes %d checkpoints permanently; confirm with --yes",
			len(c.Paths))}
	}
	return with(s, &c.remote, func(ctx context.Context, t *client.Client) error {
		var errs []error
		for _, p := range c.Paths {
			if err := t.DeleteCheckpoint(ctx, p); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p, err))
			}
		}
		fmt.Fprintf(s.out, "%d of %d deleted\n", len(c.Paths)-len(errs), len(c.Paths))
		return errors.Join(errs...)
	})
}

type checkpointTTL struct {
	remote
	Path string        `arg:"" help:"tinker://…"`
	TTL  time.Duration `xor:"ttl" required:"" help:"Time to keep it from now, such as 72h."`
	Keep bool          `xor:"ttl" required:"" help:"Keep it permanently."`
}

// Run implements the command.
func (c *checkpointTTL) Run(s *surroundings) error {
	if !c.Keep && c.TTL < time.Second {
		return usageError{fmt.Errorf("checkpoint set-ttl: --ttl is %v; it must be at least 1s; "+
			"to keep the checkpoint, use --keep", c.TTL)}
	}
	return with(s, &c.remote, func(ctx context.Context, t *client.Client) error { return t.SetTTL(ctx, c.Path, c.TTL) })
}

type checkpointExport struct {
	remote
	Path   string `arg:"" help:"tinker://…"`
	Output string `short:"o" help:"The folder to create; default: the checkpoint's name." placeholder:"DIR"`
}

// Run implements the command.
func (c *checkpointExport) Run(s *surroundings) error {
	p, err := tinker.ParsePath(c.Path)
	if err != nil {
		return usageError{err}
	}
	c.Output = cmp.Or(c.Output, p.Name)
	if _, err := os.Stat(c.Output); err == nil {
		return usageError{fmt.Errorf("checkpoint export: %s already exists; choose another --output", c.Output)}
	}
	return with(s, &c.remote, func(ctx context.Context, t *client.Client) error {
		at, err := t.ArchiveURL(ctx, c.Path)
		if err != nil {
			return err
		}
		if err := fetchTar(ctx, at, c.Output+".part"); err != nil {
			return errors.Join(err, os.RemoveAll(c.Output+".part"))
		}
		if err := os.Rename(c.Output+".part", c.Output); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "saved %s in %s\n", c.Path, c.Output)
		return nil
	})
}

// fetchTar unpacks the tar at an address into a new folder. Names that lead out of it are left out.
func fetchTar(ctx context.Context, at, dir string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("checkpoint export: %s", resp.Status)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for t := tar.NewReader(resp.Body); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("checkpoint export: %w", err)
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			continue
		}
		if err := writeNew(filepath.Join(dir, h.Name), t); err != nil {
			return err
		}
	}
}

func writeNew(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
