package fakeserver_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("A restore", func() {
	bubble.It("takes the server back, gives versions again, and cuts watches", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
		ctx := bubble.Context()
		maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
		kept, err := maps.Create(ctx, configMap("kept"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		lost, err := maps.Create(ctx, configMap("lost"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		stream, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: lost.ResourceVersion})
		Expect(err).NotTo(HaveOccurred())

		Expect(server.Restore(ctx, kept.ResourceVersion)).To(Succeed())
		Expect(server.ResourceVersion(ctx)).To(Equal(kept.ResourceVersion))
		for range stream.ResultChan() {
			Fail("an event of a watch that is over")
		}
		list, err := maps.List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Items).To(HaveLen(1))
		Expect(list.Items[0].UID).To(Equal(kept.UID))
		again, err := maps.Create(ctx, configMap("other"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(again.ResourceVersion).To(Equal(lost.ResourceVersion))

		stream, err = maps.Watch(ctx, metav1.ListOptions{ResourceVersion: kept.ResourceVersion})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(stream.Stop)
		event := <-stream.ResultChan()
		Expect(event.Type).To(Equal(watch.Added))
		Expect(event.Object.(metav1.Object).GetName()).To(Equal("other"))
	})

	It("is refused where nothing is known, and after Close", func(ctx SpecContext) {
		server := start(fakeserver.Options{})
		Expect(server.Restore(ctx, "1000")).To(MatchError(ContainSubstring("future")))
		Expect(server.Restore(ctx, "x")).To(MatchError(ContainSubstring("no resourceVersion")))
		Expect(server.Restore(ctx, "0")).To(MatchError(ContainSubstring("no resourceVersion")))
		Expect(server.Close()).To(Succeed())
		Expect(server.Restore(ctx, "1")).NotTo(Succeed())
	})
})
