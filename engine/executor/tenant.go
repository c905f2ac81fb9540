package executor

import "context"

// tenantKey is the key of a context's tenant.
type tenantKey struct{}

// WithTenant returns a context whose calls are a tenant's. Executors share themselves out among tenants; results do not
// depend on them.
func WithTenant(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, tenantKey{}, name)
}

// Tenant is the tenant of a context's calls; "" is a tenant too.
func Tenant(ctx context.Context) string {
	name, _ := ctx.Value(tenantKey{}).(string)
	return name
}
