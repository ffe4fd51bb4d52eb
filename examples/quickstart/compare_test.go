package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/internal/worker"
)

// object is a ConfigMap with a name, a resourceVersion and a value.
func object(name, resourceVersion, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": "default", "resourceVersion": resourceVersion},
		"data":     map[string]any{"value": value},
	}}
}

func TestCompareFindsEveryKindOfDifference(t *testing.T) {
	cached := []*unstructured.Unstructured{object("a", "1", "x"), object("b", "2", "x"), object("c", "3", "x")}
	for name, test := range map[string]struct {
		server []*unstructured.Unstructured
		want   []string
	}{
		"none":      {cached, nil},
		"a missing": {append(cached[:3:3], object("d", "4", "x")), []string{"default/d is on the server, but not cached"}},
		"a surplus": {cached[:2], []string{"default/c is cached, but not on the server"}},
		"a version": {append(cached[:2:2], object("c", "4", "x")), []string{"default/c is cached at resourceVersion 3, the server has 4"}},
		"a content": {append(cached[:2:2], object("c", "3", "y")), []string{`default/c differs in data.value "y" → "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			index, err := indexer.New(indexer.Options[*unstructured.Unstructured]{})
			if err != nil {
				t.Fatal(err)
			}
			var changes []indexer.Change[*unstructured.Unstructured]
			for _, o := range cached {
				changes = append(changes, indexer.Change[*unstructured.Unstructured]{Key: keyOf(o), Object: o})
			}
			list := listed{objects: map[string]*unstructured.Unstructured{}}
			for _, o := range test.server {
				list.objects[keyOf(o)] = o
			}
			got := compare(list, index.Apply(changes, "3"))
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// mixedUp is a site whose informers watch one server while it is compared with
// another.
func mixedUp(t *testing.T, manifests ...string) *site {
	t.Helper()
	var sites []*site
	for _, content := range manifests {
		server, err := fakeserver.New(fakeserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		s, _, err := newSite(t.Context(), server.Config(), new(hearing))
		if err != nil {
			t.Fatal(err)
		}
		out := newPrinter(&bytes.Buffer{})
		objects, err := readManifests(settings{paths: []string{write(t, "a.yaml", content)}}, s.kinds, out)
		if err == nil {
			err = load(t.Context(), s.client, objects, out)
		}
		out.close()
		if err != nil {
			t.Fatal(err)
		}
		sites = append(sites, s)
	}
	sites[0].client = sites[1].client
	return sites[0]
}

func TestACacheThatIsOutOfStepIsAFailureThatSaysHow(t *testing.T) {
	site := mixedUp(t, goodConfigMap+"data: {value: one}\n", goodConfigMap+"data: {value: two}\n")
	out := newPrinter(&bytes.Buffer{})
	defer out.close()
	mapping, err := site.kinds.Preferred(schema.GroupKind{Kind: "ConfigMap"})
	if err != nil {
		t.Fatal(err)
	}
	informers, err := startFleet(t.Context(), site, []*meta.RESTMapping{mapping}, out)
	if err != nil {
		t.Fatal(err)
	}
	defer informers.stop()
	if err := informers.sync(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	_, err = prove(t.Context(), site, informers)
	want := `out of step: the cache of ConfigMap, at resourceVersion 6: default/good differs in data.value "two" → "one"`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s…", err, want)
	}
}

func TestTheProofHoldsWhileSomebodyElseWrites(t *testing.T) {
	server, url := cluster(t)
	client := dynamic.NewForConfigOrDie(server.Config()).
		Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	writers := worker.New(t.Context())
	defer writers.StopAndWait()
	started := make(chan struct{})
	writers.Go("test: write", func(ctx context.Context) {
		for i := 0; ctx.Err() == nil; i++ {
			o := object(fmt.Sprintf("c%d", i%50), "", fmt.Sprint(i))
			if i >= 50 && i%3 == 0 {
				_ = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
				continue
			}
			if _, err := client.Create(ctx, o, metav1.CreateOptions{}); err != nil {
				_, _ = client.Update(ctx, o, metav1.UpdateOptions{})
			}
			if i == 50 {
				close(started)
			}
		}
	})
	<-started
	for range 5 {
		runWith(t, "-kubeconfig", kubeconfigFor(t, url, "here"), "-f", write(t, "a.yaml", goodConfigMap)).wantInStep(t, 1)
	}
}
