package fakeserver_test

import (
	"io"
	"net/http"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("Options", func() {
	within := func(options fakeserver.Options) (*fakeserver.Server, *kubernetes.Clientset) {
		server, err := fakeserver.New(options)
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { _ = server.Close() })
		return server, kubernetes.NewForConfigOrDie(server.Config())
	}

	bubble.It("serve GA versions only, unless all are asked for", func() {
		_, plain := within(fakeserver.Options{})
		_, err := plain.AppsV1beta1().Deployments("").List(bubble.TB().Context(), metav1.ListOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		_, err = plain.AppsV1().Deployments("").List(bubble.TB().Context(), metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, all := within(fakeserver.Options{AllVersions: true})
		_, err = all.AppsV1beta1().Deployments("").List(bubble.TB().Context(), metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
	})

	bubble.It("serve all versions as views of one object, and tell of them", func() {
		_, client := within(fakeserver.Options{AllVersions: true})
		ctx := bubble.TB().Context()
		watched, err := client.AppsV1beta2().Deployments("default").Watch(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		defer watched.Stop()
		_, err = client.AppsV1beta1().Deployments("default").Create(ctx,
			&appsv1beta1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		stored, err := client.AppsV1().Deployments("default").Get(ctx, "a", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		seen, isOld := (<-watched.ResultChan()).Object.(*appsv1beta2.Deployment)
		Expect(isOld).To(BeTrue())
		Expect(seen.UID).To(Equal(stored.UID))
		versions := func(client *kubernetes.Clientset, group string) (names []string) {
			groups, err := client.Discovery().ServerGroups()
			Expect(err).NotTo(HaveOccurred())
			for _, found := range groups.Groups {
				for _, v := range found.Versions {
					if found.Name == group {
						names = append(names, v.Version)
					}
				}
			}
			return names
		}
		Expect(versions(client, "apps")).To(Equal([]string{"v1", "v1beta2", "v1beta1"}))
		_, plain := within(fakeserver.Options{})
		Expect(versions(plain, "apps")).To(Equal([]string{"v1"}))
	})

	bubble.It("shrink the window, so that a few writes make a 410", func() {
		_, client := within(fakeserver.Options{Cache: cacher.Options{MinCapacity: 2, MaxCapacity: 2}})
		ctx := bubble.TB().Context()
		maps := client.CoreV1().ConfigMaps("default")
		create := func() *corev1.ConfigMap {
			made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a"}}, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
			return made
		}
		old := create().ResourceVersion
		for range 5 {
			create()
		}
		synctest.Wait()
		w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: old})
		Expect(err).NotTo(HaveOccurred())
		defer w.Stop()
		event := <-w.ResultChan()
		Expect(apierrors.IsResourceExpired(apierrors.FromObject(event.Object))).To(BeTrue(), "%v", event)
	})

	bubble.It("bound bodies and the length of watches, and let namespaces be missing", func() {
		server, client := within(fakeserver.Options{BodyLimit: 300, MinWatchTimeout: time.Minute, AnyNamespace: true})
		ctx := bubble.TB().Context()
		_, err := client.CoreV1().ConfigMaps("nowhere").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Data: map[string]string{"k": string(make([]byte, 400))}}
		_, err = client.CoreV1().ConfigMaps("default").Create(ctx, large, metav1.CreateOptions{})
		Expect(apierrors.IsRequestEntityTooLargeError(err)).To(BeTrue(), "%v", err)
		began := time.Now()
		response, err := (&http.Client{Transport: server.Config().Transport}).Get(server.Config().Host + "/api/v1/configmaps?watch=1")
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(time.Since(began)).To(BeNumerically("~", 90*time.Second, 30*time.Second))
	})

	It("are checked", func() {
		for _, wrong := range []fakeserver.Options{
			{BodyLimit: -1}, {RequestTimeout: -1}, {MinWatchTimeout: -1}, {MaxInFlight: -1}, {MaxMutatingInFlight: -1},
			{Cache: cacher.Options{MinCapacity: 3, MaxCapacity: 2}}, {Cache: cacher.Options{BookmarkPeriod: -1}},
		} {
			_, err := fakeserver.New(wrong)
			Expect(err).To(HaveOccurred(), "%+v", wrong)
		}
	})
})
