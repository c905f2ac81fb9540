package wandb

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// mediaFile is a file of the run, which the service gets before the line that names it.
type mediaFile struct {
	name string // below the run's files, with slashes
	path string // here
}

// upload asks the service where a file goes, with the GraphQL mutation createRunFiles, and puts it there (requests
// recorded from wandb 0.31).
func (s *stream) upload(u mediaFile) error {
	const mutation = `mutation CreateRunFiles($entity: String!, $project: String!, $run: String!, $files: [String!]!) {
  createRunFiles(input: {entityName: $entity, projectName: $project, runName: $run, files: $files}) {
    runID
    uploadHeaders
    files { name uploadUrl }
  }
}`
	var answer struct {
		Errors []struct{ Message string }
		Data   struct {
			CreateRunFiles struct {
				UploadHeaders []string // each "Name:value"
				Files         []struct{ Name, UploadURL string }
			}
		}
	}
	variables := map[string]any{"entity": s.entity, "project": s.project, "run": s.run, "files": []string{u.name}}
	if err := s.post(s.base+"/graphql", map[string]any{"query": mutation, "variables": variables},
		&answer); err != nil {
		return err
	}
	made := answer.Data.CreateRunFiles
	if len(answer.Errors) > 0 || len(made.Files) != 1 || made.Files[0].Name != u.name {
		return fmt.Errorf("the service has no place for %s: %v", u.name, answer.Errors)
	}
	return s.put(u.path, made.Files[0].UploadURL, made.UploadHeaders)
}

// put sends a file to an address, which is signed, so the key does not go along; a relative one is the service's own.
func (s *stream) put(path, to string, headers []string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	base, err := url.Parse(s.base)
	if err != nil {
		return err
	}
	at, err := base.Parse(to)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPut, at.String(), f)
	if err != nil {
		return err
	}
	req.ContentLength = st.Size()
	for _, h := range headers {
		if name, value, ok := strings.Cut(h, ":"); ok {
			req.Header.Set(name, value)
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %.300s", at.Host, resp.Status, raw)
	}
	return err
}
