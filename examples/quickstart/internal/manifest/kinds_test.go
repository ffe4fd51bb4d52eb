package manifest

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is what a server of the tests answers to discovery: a line per group
// and version, preferred versions first; "/" marks kinds without a namespace,
// "!" those that can only be created.
const served = `
v1 Namespace/ Node/ PersistentVolume/ Pod Service ConfigMap Secret ServiceAccount PersistentVolumeClaim ResourceQuota LimitRange Binding!
apps/v1 Deployment StatefulSet DaemonSet
batch/v1 Job CronJob
networking.k8s.io/v1 Ingress NetworkPolicy
autoscaling/v2 HorizontalPodAutoscaler
autoscaling/v1 HorizontalPodAutoscaler
policy/v1 PodDisruptionBudget
rbac.authorization.k8s.io/v1 Role RoleBinding ClusterRole/ ClusterRoleBinding/
coordination.k8s.io/v1 Lease
scheduling.k8s.io/v1 PriorityClass/
storage.k8s.io/v1 StorageClass/
shop.example.com/v1 Teapot
`

func testKinds() *Kinds {
	var groups []*restmapper.APIGroupResources
	byName := map[string]*restmapper.APIGroupResources{}
	for line := range strings.Lines(strings.TrimSpace(served)) {
		words := strings.Fields(line)
		gv, _ := schema.ParseGroupVersion(words[0])
		group := byName[gv.Group]
		if group == nil {
			group = &restmapper.APIGroupResources{VersionedResources: map[string][]metav1.APIResource{}}
			group.Group.Name = gv.Group
			byName[gv.Group] = group
			groups = append(groups, group)
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		if len(group.Group.Versions) == 0 {
			group.Group.PreferredVersion = version
		}
		group.Group.Versions = append(group.Group.Versions, version)
		for _, word := range words[1:] {
			group.VersionedResources[gv.Version] = append(group.VersionedResources[gv.Version], testResource(word))
		}
	}
	return NewKinds(groups)
}

func testResource(word string) metav1.APIResource {
	kind := strings.TrimRight(word, "/!")
	resource := metav1.APIResource{
		Name: strings.ToLower(kind) + "s", Kind: kind, Namespaced: !strings.Contains(word, "/"),
		Verbs: metav1.Verbs{"create", "get", "list", "watch"},
	}
	if strings.Contains(word, "!") {
		resource.Verbs = metav1.Verbs{"create"}
	}
	return resource
}

func TestAnUnknownKindIsAnsweredWithTheOneThatMayBeMeant(t *testing.T) {
	kinds := testKinds()
	for _, test := range []struct{ apiVersion, kind, want string }{
		{"extensions/v1beta1", "Ingress", "write apiVersion: networking.k8s.io/v1, kind: Ingress"},
		{"apps/v1", "Deploymnet", "write apiVersion: apps/v1, kind: Deployment"},
		{"v1", "deployment", "write apiVersion: apps/v1, kind: Deployment"},
		{"autoscaling/v2beta2", "HorizontalPodAutoscaler", "write apiVersion: autoscaling/v2, kind"},
		{"v1", "Foo", "check the spelling"},
		{"v1", "Binding", "does not list objects of kind Binding"},
	} {
		gv, _ := schema.ParseGroupVersion(test.apiVersion)
		_, err := kinds.Lookup(gv.WithKind(test.kind))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: got %v, want …%s…", test.apiVersion, test.kind, err, test.want)
		}
	}
}

func TestPreferredIsTheVersionThatTheServerPrefers(t *testing.T) {
	mapping, err := testKinds().Preferred(schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"})
	if err != nil || mapping.Resource.Version != "v2" {
		t.Errorf("got %v, %v; want version v2", mapping, err)
	}
	if _, err := testKinds().Preferred(schema.GroupKind{Kind: "Foo"}); err == nil {
		t.Error("no error for a kind that is not served")
	}
}
