package fakeserver_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"

	"github.com/listwatch/listwatch/internal/bubble"
)

// target is a resource that the stock informers below look at.
type target struct {
	schema.GroupVersionResource
	kind      string
	namespace string
}

var watched = []target{
	{corev1.SchemeGroupVersion.WithResource("pods"), "Pod", "default"},
	{appsv1.SchemeGroupVersion.WithResource("deployments"), "Deployment", "default"},
	{corev1.SchemeGroupVersion.WithResource("nodes"), "Node", ""},
	{corev1.SchemeGroupVersion.WithResource("configmaps"), "ConfigMap", "default"},
	{coordinationv1.SchemeGroupVersion.WithResource("leases"), "Lease", "default"},
}

var _ = Describe("Stock client-go informers, with watch-list on", func() {
	bubble.It("the typed shared factory syncs and sees creates, updates and deletes", func() {
		rig := newStockRig()
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(rig.config()), 0)
		for _, resource := range watched {
			generic, err := factory.ForResource(resource.GroupVersionResource)
			Expect(err).NotTo(HaveOccurred())
			rig.follow(resource.Resource, generic.Informer())
		}
		factory.Start(rig.ctx.Done())
		bubble.Cleanup(factory.Shutdown)
		rig.expectLifecycle()
	})

	bubble.It("the dynamic factory syncs and sees creates, updates and deletes", func() {
		rig := newStockRig()
		factory := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(rig.config()), 0)
		for _, resource := range watched {
			rig.follow(resource.Resource, factory.ForResource(resource.GroupVersionResource).Informer())
		}
		factory.Start(rig.ctx.Done())
		bubble.Cleanup(factory.Shutdown)
		rig.expectLifecycle()
	})

	bubble.It("the metadata factory syncs and sees creates, updates and deletes", func() {
		rig := newStockRig()
		factory := metadatainformer.NewSharedInformerFactory(metadata.NewForConfigOrDie(rig.config()), 0)
		for _, resource := range watched {
			rig.follow(resource.Resource, factory.ForResource(resource.GroupVersionResource).Informer())
		}
		factory.Start(rig.ctx.Done())
		bubble.Cleanup(factory.Shutdown)
		rig.expectLifecycle()
	})
})
