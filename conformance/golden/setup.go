package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// setUp makes the namespaces of the scenario, and removes before that what a
// run that was cut off has left.
func (r *runner) setUp(ctx context.Context) error {
	if err := r.tearDown(ctx); err != nil {
		return err
	}
	for _, name := range r.scenario.Namespaces {
		body := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":` + encode(name) + `}}`
		got, _, err := r.send(ctx, http.MethodPost, "/api/v1/namespaces", body)
		if err == nil && got.status != http.StatusCreated {
			err = fmt.Errorf("status %d%s", got.status, complaint(got.body))
		}
		if err != nil {
			return fmt.Errorf("%w: create namespace %s: %w", ErrSetup, name, err)
		}
	}
	return nil
}

// tearDown removes what the scenario made.
func (r *runner) tearDown(ctx context.Context) error {
	if r.target.Fresh {
		return nil
	}
	var errs []error
	for _, object := range r.scenario.Cleanup {
		errs = append(errs, r.remove(ctx, object))
	}
	for _, name := range r.scenario.Namespaces {
		errs = append(errs, r.removeNamespace(ctx, name))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: clean up: %w", ErrSetup, err)
	}
	return nil
}

// send is a request outside of the scenario's steps.
func (r *runner) send(ctx context.Context, method, target, body string) (answer, any, error) {
	step := Step{Method: method, Path: target}
	if body != "" {
		step.Body = json.RawMessage(body)
	}
	return r.once(ctx, &step)
}

// remove deletes an object, whatever finalizers it has, unless it is gone.
func (r *runner) remove(ctx context.Context, target string) error {
	got, raw, err := r.send(ctx, http.MethodGet, target, "")
	if err != nil || got.status == http.StatusNotFound {
		return err
	}
	if finalizers, ok := at("metadata.finalizers", raw); ok && len(text(finalizers)) > len("[]") {
		// An update, because a server under test may not know patches yet.
		freed := merge(raw, map[string]any{"metadata": map[string]any{"finalizers": nil, "resourceVersion": nil}})
		got, _, err := r.send(ctx, http.MethodPut, target, encode(freed))
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("status %d%s", got.status, complaint(got.body))
		}
		if err != nil {
			return fmt.Errorf("remove the finalizers of %s: %w", target, err)
		}
	}
	got, _, err = r.send(ctx, http.MethodDelete, target, `{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}`)
	if err == nil && got.status >= 300 && got.status != http.StatusNotFound {
		err = fmt.Errorf("delete %s: status %d%s", target, got.status, complaint(got.body))
	}
	return err
}

// removeNamespace deletes a namespace with all objects in it.
func (r *runner) removeNamespace(ctx context.Context, name string) error {
	target := "/api/v1/namespaces/" + name
	got, _, err := r.send(ctx, http.MethodGet, target, "")
	if err != nil || got.status == http.StatusNotFound {
		return err
	}
	prefixes, err := r.namespacedResources(ctx)
	if err != nil {
		return err
	}
	for _, p := range prefixes {
		collection := p.prefix + "/namespaces/" + name + "/" + p.resource
		_, list, err := r.send(ctx, http.MethodGet, collection, "")
		if err != nil {
			return err
		}
		names, _ := parsePath("items[*].metadata.name")
		for _, object := range names.find(list) {
			if err := r.remove(ctx, collection+"/"+text(object)); err != nil {
				return err
			}
		}
	}
	if _, _, err := r.send(ctx, http.MethodDelete, target, ""); err != nil {
		return err
	}
	got, raw, err := r.send(ctx, http.MethodGet, target, "")
	if err != nil || got.status == http.StatusNotFound {
		return err
	}
	finalized := merge(raw, map[string]any{"spec": map[string]any{"finalizers": []any{}}})
	_, _, err = r.send(ctx, http.MethodPut, target+"/finalize", encode(finalized))
	return err
}

// collectionOf is a namespaced resource that can be listed and deleted.
type collectionOf struct{ prefix, resource string }

// namespacedResources asks discovery for every one, in its preferred version.
func (r *runner) namespacedResources(ctx context.Context) ([]collectionOf, error) {
	prefixes := []string{"/api/v1"}
	_, groups, err := r.send(ctx, http.MethodGet, "/apis", "")
	if err != nil {
		return nil, err
	}
	preferred, _ := parsePath("groups[*].preferredVersion.groupVersion")
	for _, version := range preferred.find(groups) {
		prefixes = append(prefixes, "/apis/"+text(version))
	}
	var found []collectionOf
	for _, prefix := range prefixes {
		_, list, err := r.send(ctx, http.MethodGet, prefix, "")
		if err != nil {
			return nil, err
		}
		resources, _ := at("resources", list)
		elements, _ := resources.([]any)
		for _, element := range elements {
			resource, _ := element.(map[string]any)
			verbs, _ := resource["verbs"].([]any)
			name := optional(resource["name"])
			if resource["namespaced"] == true && slices.Contains(verbs, any("list")) &&
				slices.Contains(verbs, any("delete")) && !strings.Contains(name, "/") {
				found = append(found, collectionOf{prefix, name})
			}
		}
	}
	return found, nil
}
