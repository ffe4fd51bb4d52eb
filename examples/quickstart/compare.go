package main

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listwatch/listwatch/indexer"
)

// listed is the server's own view of one kind.
type listed struct {
	objects         map[string]*unstructured.Unstructured
	resourceVersion uint64
}

// prove compares every cache with the server's list and returns the sentence
// that says so if all are equal; otherwise the error lists what differs.
func prove(ctx context.Context, site *site, informers *fleet) (string, error) {
	objects, newest := 0, uint64(0)
	for _, m := range informers.members {
		list, err := inStep(ctx, site, m)
		if err != nil {
			return "", err
		}
		objects += len(list.objects)
		newest = max(newest, list.resourceVersion)
	}
	return fmt.Sprintf("in step with the server at resourceVersion %d: %s of %s",
		newest, count(objects, "object"), count(len(informers.members), "kind")), nil
}

// inStep waits until the cache of m equals a list of the server. Nobody need
// tell an idle informer that other kinds have moved the server's
// resourceVersion, so what counts is the content: a cache that equals the list
// is in step with it, and one that is older may still get there. One that is
// newer, because somebody else writes, is compared with what the server had at
// exactly the cache's resourceVersion.
func inStep(ctx context.Context, site *site, m *member) (listed, error) {
	list, err := fetch(ctx, site, m, "")
	if err != nil {
		return listed{}, err
	}
	for {
		snapshot := m.informer.Snapshot()
		version, err := strconv.ParseUint(snapshot.ResourceVersion(), 10, 64)
		if err != nil {
			return listed{}, fmt.Errorf("the cache of %s: %w", m.kind(), err)
		}
		differences := compare(list, snapshot)
		if len(differences) > 0 && version > list.resourceVersion {
			if list, err = fetch(ctx, site, m, snapshot.ResourceVersion()); err != nil {
				return listed{}, err
			}
			differences = compare(list, snapshot)
		}
		switch {
		case len(differences) == 0:
			return list, nil
		case version >= list.resourceVersion:
			return listed{}, outOfStep(m, version, differences)
		}
		if err := m.informer.WaitFor(ctx, strconv.FormatUint(version+1, 10)); err != nil {
			return listed{}, fmt.Errorf("%w: %w", outOfStep(m, version, differences), err)
		}
	}
}

// fetch lists a kind from the server, in pages of one and the same state: the
// newest, or that of exactly the resourceVersion.
func fetch(ctx context.Context, site *site, m *member, resourceVersion string) (listed, error) {
	list := listed{objects: map[string]*unstructured.Unstructured{}}
	options := metav1.ListOptions{Limit: 500}
	if resourceVersion != "" {
		options.ResourceVersion, options.ResourceVersionMatch = resourceVersion, metav1.ResourceVersionMatchExact
	}
	for {
		page, err := site.client.Resource(m.mapping.Resource).List(ctx, options)
		if err != nil {
			return list, fmt.Errorf("list %s: %w", m.kind(), err)
		}
		for i := range page.Items {
			list.objects[keyOf(&page.Items[i])] = &page.Items[i]
		}
		if next := page.GetContinue(); next != "" {
			options = metav1.ListOptions{Limit: options.Limit, Continue: next}
			continue
		}
		list.resourceVersion, err = strconv.ParseUint(page.GetResourceVersion(), 10, 64)
		if err != nil {
			return list, fmt.Errorf("list %s: the server's resourceVersion: %w", m.kind(), err)
		}
		return list, nil
	}
}

// compare says how a cache differs from the server, object by object and in
// full.
func compare(list listed, snapshot *indexer.Snapshot[*unstructured.Unstructured]) []string {
	var differences []string
	for key, cached := range snapshot.All() {
		object, exists := list.objects[key]
		switch {
		case !exists:
			differences = append(differences, printable(key)+" is cached, but not on the server")
		case object.GetResourceVersion() != cached.GetResourceVersion():
			differences = append(differences, fmt.Sprintf("%s is cached at resourceVersion %s, the server has %s",
				printable(key), cached.GetResourceVersion(), object.GetResourceVersion()))
		case !reflect.DeepEqual(object.Object, cached.Object):
			differences = append(differences, printable(key)+" differs in "+whatChanged(object, cached))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(list.objects)) {
		if _, exists := snapshot.Get(key); !exists {
			differences = append(differences, printable(key)+" is on the server, but not cached")
		}
	}
	return differences
}

func outOfStep(m *member, version uint64, differences []string) error {
	const most = 5
	text := strings.Join(differences[:min(most, len(differences))], "; ")
	if more := len(differences) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Errorf("out of step: the cache of %s, at resourceVersion %d: %s", m.kind(), version, text)
}
