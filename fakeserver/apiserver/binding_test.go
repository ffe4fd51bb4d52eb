package apiserver

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/internal/bubble"
)

const pods = "/api/v1/namespaces/default/pods"

func bindingOf(name, node string) string {
	return `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"` + name + `","labels":{"l":"1"}},"target":{"kind":"Node","name":"` + node + `"}}`
}

var _ = Describe("binding a pod", func() {
	bubble.It("puts it on a node, once", func() {
		r := inBubble()
		r.must(201, "POST", pods, `{"metadata":{"name":"a"}}`)
		Expect(r.do("POST", pods+"/a/binding?dryRun=All", bindingOf("a", "n1")).code).To(Equal(201))
		Expect(r.must(200, "GET", pods+"/a", "").at("spec.nodeName")).To(BeNil())
		bound := r.must(201, "POST", pods+"/a/binding", bindingOf("a", "n1"))
		Expect(bound.at("status")).To(Equal("Success"))
		pod := r.must(200, "GET", pods+"/a", "")
		Expect(pod.at("spec.nodeName")).To(Equal("n1"))
		Expect(pod.at("metadata.labels.l")).To(Equal("1"))
		Expect(pod.at("status.conditions")).To(ContainElement(HaveKeyWithValue("type", "PodScheduled")))
		Expect(r.do("POST", pods+"/a/binding", bindingOf("a", "n2")).code).To(Equal(409))
	})
	bubble.It("works through the collection of bindings", func() {
		r := inBubble()
		r.must(201, "POST", pods, `{"metadata":{"name":"a"}}`)
		r.must(201, "POST", "/api/v1/namespaces/default/bindings", bindingOf("a", "n1"))
		Expect(r.must(200, "GET", pods+"/a", "").at("spec.nodeName")).To(Equal("n1"))
	})
	bubble.It("is refused for what is no pod and no node", func() {
		r := inBubble()
		r.must(201, "POST", pods, `{"metadata":{"name":"a"}}`)
		Expect(r.do("POST", pods+"/b/binding", bindingOf("b", "n1")).code).To(Equal(404))
		Expect(r.do("POST", pods+"/a/binding", bindingOf("b", "n1")).code).To(Equal(400))
		Expect(r.do("POST", pods+"/a/binding", bindingOf("a", "")).code).To(Equal(500))
		Expect(r.do("GET", pods+"/a/binding", "").code).To(Equal(405))
	})
})

var _ = Describe("evicting a pod", func() {
	const eviction = `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}}`
	bubble.It("deletes it, in every version of evictions", func() {
		for _, version := range []string{"v1", "v1beta1"} {
			r := inBubble()
			r.must(201, "POST", pods, `{"metadata":{"name":"a"}}`)
			r.must(201, "POST", pods+"/a/eviction", `{"apiVersion":"policy/`+version+`","kind":"Eviction","metadata":{"name":"a"}}`)
			Expect(r.do("GET", pods+"/a", "").code).To(Equal(404))
			Expect(r.do("POST", pods+"/a/eviction", eviction).code).To(Equal(404))
		}
	})
	bubble.It("takes from the budget that selects it", func() {
		r := inBubble()
		const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
		merge := func(path, body string) {
			GinkgoHelper()
			got := r.do("PATCH", path, body, "Content-Type", "application/merge-patch+json")
			Expect(got.code).To(Equal(200), string(got.body))
		}
		r.must(201, "POST", pods, `{"metadata":{"name":"a","labels":{"l":"1"}}}`)
		merge(pods+"/a/status", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
		r.must(201, "POST", budgets, `{"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"l":"1"}}}}`)
		refused := r.must(429, "POST", pods+"/a/eviction", eviction)
		Expect(refused.header.Get("Retry-After")).To(Equal("10"))
		merge(budgets+"/b/status", `{"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1}}`)
		r.must(201, "POST", pods+"/a/eviction", eviction)
		after := r.must(200, "GET", budgets+"/b", "")
		Expect(after.at("status.disruptionsAllowed")).To(BeEquivalentTo(0))
		Expect(after.at("status.disruptedPods")).To(HaveKey("a"))
	})
})

func TestABudgetIsAskedForPodsThatServe(t *testing.T) {
	ready := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	always := policyv1.AlwaysAllow
	for _, c := range []struct {
		name          string
		pod           *corev1.Pod
		spec          policyv1.PodDisruptionBudgetSpec
		status        policyv1.PodDisruptionBudgetStatus
		free, refused bool
	}{
		{name: "ready, one allowed", pod: ready, status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 2, DisruptionsAllowed: 1}},
		{name: "ready, none allowed", pod: ready, status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 2}, refused: true},
		{name: "ready, not observed", pod: ready, status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1}, refused: true},
		{name: "not ready, enough others", pod: &corev1.Pod{}, status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1}, free: true},
		{name: "not ready, too few others", pod: &corev1.Pod{}, status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1}, refused: true},
		{name: "not ready, always allowed", pod: &corev1.Pod{}, spec: policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: &always}, free: true},
	} {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: c.spec, Status: c.status}
		free, err := disrupt(budget, c.pod)
		if free != c.free || (err != nil) != c.refused {
			t.Errorf("%s: free %v, %v", c.name, free, err)
		}
	}
}
