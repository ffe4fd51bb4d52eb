package fakeserver_test

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
)

// BenchmarkNewToFirstAnswer measures what a test pays for a server of its own:
// from New to the answer of a list. It reports the median and the slowest.
func BenchmarkNewToFirstAnswer(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		server, err := fakeserver.New(fakeserver.Options{})
		if err != nil {
			b.Fatal(err)
		}
		client := kubernetes.NewForConfigOrDie(server.Config())
		if _, err := client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
		if err := server.Close(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}
