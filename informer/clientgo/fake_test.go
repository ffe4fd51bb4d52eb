package clientgo_test

import (
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("A factory with client-go's fake client", func() {
	for _, registered := range []bool{false, true} {
		name := map[bool]string{false: "by client-go", true: "by listwatch"}[registered]
		bubble.It("lists and watches, "+name, func() {
			client := fake.NewClientset(newPod("default", "a", ""))
			factory := informers.NewSharedInformerFactory(client, 0)
			if registered {
				Expect(clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{})).To(Succeed())
			}
			inf, h := factory.Core().V1().Pods().Informer(), &recorder{}
			must(inf.AddEventHandler(h))
			stop := make(chan struct{})
			factory.Start(stop)
			factory.WaitForCacheSync(stop)
			Expect(h.take()).To(Equal([]string{"initial a"}))
			pods := client.CoreV1().Pods("default")
			must(pods.Create(bubble.Context(), newPod("default", "b", ""), metav1.CreateOptions{}))
			synctest.Wait()
			must(pods.Update(bubble.Context(), newPod("default", "b", "", "x"), metav1.UpdateOptions{}))
			synctest.Wait()
			Expect(pods.Delete(bubble.Context(), "a", metav1.DeleteOptions{})).To(Succeed())
			Expect(h.take()).To(Equal([]string{"add b", "update b to b", "delete a"}))
			Expect(must(factory.Core().V1().Pods().Lister().Pods("default").Get("b")).Annotations).To(HaveKey("x"))
			close(stop)
			factory.Shutdown()
		})
	}
})
