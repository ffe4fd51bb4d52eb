package apiserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// benchPod is a pod of about 2 KB, as a controller would make it.
const benchPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"NAME","namespace":"default",
"labels":{"app":"shop","tier":"web","pod-template-hash":"5d4f8c7b9"},"annotations":{"example.com/checksum":"0123456789abcdef"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"shop-5d4f8c7b9","uid":"1","controller":true}]},
"spec":{"nodeName":"node-1","serviceAccountName":"shop","restartPolicy":"Always","dnsPolicy":"ClusterFirst",
"containers":[{"name":"web","image":"registry.example/shop:1.2.3","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],
"env":[{"name":"A","value":"1"},{"name":"B","value":"2"},{"name":"C","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
"resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"memory":"256Mi"}},
"livenessProbe":{"httpGet":{"path":"/live","port":"http"},"periodSeconds":10},
"volumeMounts":[{"name":"config","mountPath":"/etc/shop"},{"name":"tmp","mountPath":"/tmp"}]},
{"name":"proxy","image":"registry.example/proxy:4","resources":{"requests":{"cpu":"10m"}}}],
"volumes":[{"name":"config","configMap":{"name":"shop"}},{"name":"tmp","emptyDir":{}}],
"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}}`

// BenchmarkWrites measures one write through the handler, without a connection:
// what a test pays for each object that it makes or changes.
func BenchmarkWrites(b *testing.B) {
	named := func(i int) string { return strings.Replace(benchPod, "NAME", fmt.Sprintf("p%d", i), 1) }
	send := func(b *testing.B, r *rig, want int, req *http.Request) {
		recorder := httptest.NewRecorder()
		r.ServeHTTP(recorder, req)
		if recorder.Code != want {
			b.Fatalf("%d %s", recorder.Code, recorder.Body)
		}
	}
	const path = "/api/v1/namespaces/default/pods"
	b.Run("create", func(b *testing.B) {
		r, i := newRig(b, Options{}), 0
		send(b, r, 201, newRequest("POST", path, named(-1)))
		b.ReportAllocs()
		for b.Loop() {
			send(b, r, 201, newRequest("POST", path, named(i)))
			i++
		}
	})
	b.Run("patch status", func(b *testing.B) {
		r, i := newRig(b, Options{}), 0
		send(b, r, 201, newRequest("POST", path, named(0)))
		b.ReportAllocs()
		for b.Loop() {
			body := fmt.Sprintf(`{"status":{"podIP":"10.0.0.%d"}}`, i%250)
			send(b, r, 200, newRequest("PATCH", path+"/p0/status", body, "Content-Type", "application/strategic-merge-patch+json"))
			i++
		}
	})
}
