package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Open tries a sandbox. The program that calls it must call Stage first thing in main.
func Open(ctx context.Context, o Options) (*Box, error) {
	if o.Kind == None {
		return &Box{kind: None, note: "no isolation"}, nil
	}
	if !o.Staged {
		return nil, refuse("the main function of this program does not begin with sandbox.Stage (rl/tool.Stage), or "+
			"does not say so", "call it and set run.Options.Sandboxes")
	}
	b := &Box{kind: Namespaces}
	err := b.probe(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case forbidden(err):
		return nil, refuse(fmt.Sprintf("the kernel or the container gives this user no namespaces (%v)", err),
			remedy("/proc/sys"))
	case err != nil:
		return nil, refuse(fmt.Sprintf("namespaces fail here: %v", err), "allow unprivileged user namespaces")
	}
	return b, nil
}

// forbidden reports whether a sandbox failed for lack of rights. Behind AppArmor's restriction a namespace can be made,
// but the first mount in it fails: the stage reports that as text.
func forbidden(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) ||
		errors.Is(err, syscall.EINVAL) || err != nil && strings.HasSuffix(err.Error(), syscall.EACCES.Error()) ||
		err != nil && strings.HasSuffix(err.Error(), syscall.EPERM.Error())
}

// remedy names the setting that forbids user namespaces to this user, and how to allow them. sys is /proc/sys.
func remedy(sys string) string {
	set := func(name, value string) bool {
		data, err := os.ReadFile(sys + "/" + name)
		return err == nil && strings.TrimSpace(string(data)) == value
	}
	switch {
	case set("user/max_user_namespaces", "0"):
		return "run sysctl user.max_user_namespaces=10000 as root"
	case set("kernel/unprivileged_userns_clone", "0"): // Debian's kernels before 5.10
		return "run sysctl kernel.unprivileged_userns_clone=1 as root"
	case set("kernel/apparmor_restrict_unprivileged_userns", "1"): // Ubuntu since 23.10
		program, err := os.Executable()
		if err != nil {
			program = "/path/to/trinity"
		}
		return "AppArmor restricts namespaces: write `profile trinity " + program +
			" flags=(unconfined) { userns, }` to /etc/apparmor.d/trinity and run systemctl reload apparmor, or run " +
			"sysctl kernel.apparmor_restrict_unprivileged_userns=0, as root"
	}
	return "allow unprivileged user namespaces; in Docker, start the container with " +
		"--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
}

// probe goes through a whole run without a program, and notes what the sandbox lacks. It uses cgroups if they work.
func (b *Box) probe(ctx context.Context) error {
	try := func() (report, error) {
		return b.stages(ctx, spec{Limits: DefaultLimits()}, Job{Limits: DefaultLimits()}, nil)
	}
	b.cgroups = findCgroups()
	rep, err := try()
	if err != nil && b.cgroups != nil {
		b.cgroups = nil
		rep, err = try()
	}
	if err != nil {
		return err
	}
	b.note = rep.Notes
	return nil
}
