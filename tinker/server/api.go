package server

import (
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/sampling"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
)

// What a program that opens a server needs of its parts.
type (
	// Store lists and reads what the Backend saved, such as engine.Engine.
	Store = checkpoint.Store
	// Exporter is a Store that exports some files of a checkpoint in another form than they are saved in.
	Exporter = checkpoint.Exporter
	// Models names the base models.
	Models = basemodel.Models
	// Access says who may call.
	Access = edge.Access
	// Keys decides which API keys are accepted.
	Keys = edge.Keys
	// Bodies limit the bodies of requests.
	Bodies = edge.Bodies
	// Queues limit pending work.
	Queues = capacity.Queues
	// Keep says how long the server keeps what clients no longer ask for.
	Keep = sampling.Keep
)

// HashKey is the stored form of a key.
func HashKey(key string) string { return edge.HashKey(key) }

// TenantOf is the tenant of a key. It reveals nothing about the key.
func TenantOf(key string) string { return edge.TenantOf(key) }

// Verify reads the server's log in dir without changing it and calls seen with its findings.
func Verify(dir string, seen func(line string)) error { return state.Verify(dir, seen) }

// Repair sets aside the parts of the server's log in dir that a start could not read, and calls seen with the losses.
// No process may have the log open.
func Repair(dir string, seen func(line string)) error { return state.Repair(dir, seen) }
