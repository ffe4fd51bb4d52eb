package configset_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/fakeserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// withServer calls f in a bubble, with a server that serves ConfigSets.
func withServer(t *testing.T, f func(context.Context, *fakeserver.Server, *configset.Client)) {
	synctest.Test(t, func(t *testing.T) {
		server, err := fakeserver.New(fakeserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		if created, err := configset.Install(t.Context(), server.Config()); err != nil || !created {
			t.Fatalf("created: %v, %v", created, err)
		}
		client, err := configset.NewClient(server.Config())
		if err != nil {
			t.Fatal(err)
		}
		f(t.Context(), server, client)
	})
}

// fresh is a set as a user would write it.
func fresh(name string) *configset.ConfigSet {
	return &configset.ConfigSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
}

func TestADefinitionThatIsThereIsLeftAlone(t *testing.T) {
	withServer(t, func(ctx context.Context, server *fakeserver.Server, _ *configset.Client) {
		definitions := apiextensions.NewForConfigOrDie(server.Config()).CustomResourceDefinitions()
		before, err := definitions.Get(ctx, configset.DefinitionName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if created, err := configset.Install(ctx, server.Config()); created || err != nil {
			t.Errorf("created again: %v, %v", created, err)
		}
		if after, err := definitions.Get(ctx, configset.DefinitionName, metav1.GetOptions{}); err != nil || after.ResourceVersion != before.ResourceVersion {
			t.Errorf("it was written, or not found: %v", err)
		}
	})
}

func TestTheServerFillsInAndRefuses(t *testing.T) {
	withServer(t, func(ctx context.Context, server *fakeserver.Server, client *configset.Client) {
		sets := client.ConfigSets("default")
		created, err := sets.Create(ctx, fresh("plain"), metav1.CreateOptions{})
		if err != nil || created.Spec.Replicas == nil || created.Wanted() != configset.DefaultReplicas || created.Generation != 1 {
			t.Errorf("without a number: %+v, %v", created, err)
		}
		for _, n := range []int32{-1, configset.MaxReplicas + 1} {
			s := fresh("bad")
			s.Spec.Replicas = &n
			if _, err := sets.Create(ctx, s, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.replicas") {
				t.Errorf("%d replicas: %v", n, err)
			}
		}
		if _, err := sets.Create(ctx, fresh(strings.Repeat("a", configset.MaxName+1)), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("a name that is too long: %v", err)
		}
		if _, err := sets.Create(ctx, fresh(strings.Repeat("a", configset.MaxName)), metav1.CreateOptions{}); err != nil {
			t.Errorf("the longest name: %v", err)
		}
		if list, err := sets.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 2 {
			t.Errorf("the list: %+v, %v", list, err)
		}
	})
}

func TestStatusAndScaleAreSubresources(t *testing.T) {
	withServer(t, func(ctx context.Context, server *fakeserver.Server, client *configset.Client) {
		sets := client.ConfigSets("default")
		s, err := sets.Create(ctx, fresh("web"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.Status.Replicas, s.Status.Selector = 1, "a=b"
		s.Spec.Replicas = new(int32(7))
		if s, err = sets.UpdateStatus(ctx, s, metav1.UpdateOptions{}); err != nil || s.Status.Replicas != 1 || s.Wanted() != 1 || s.Generation != 1 {
			t.Errorf("after a write of the status: %+v, %v", s, err)
		}
		scales := dynamic.NewForConfigOrDie(server.Config()).Resource(configset.Resource).Namespace("default")
		scale, err := scales.Get(ctx, "web", metav1.GetOptions{}, "scale")
		if err != nil {
			t.Fatal(err)
		}
		scale.Object["spec"] = map[string]any{"replicas": int64(5)}
		if _, err = scales.Update(ctx, scale, metav1.UpdateOptions{}, "scale"); err != nil {
			t.Fatal(err)
		}
		if s, err = sets.Get(ctx, "web", metav1.GetOptions{}); err != nil || s.Wanted() != 5 || s.Generation != 2 {
			t.Errorf("scaled to 5: %+v, %v", s, err)
		}
	})
}
