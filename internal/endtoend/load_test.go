package endtoend_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

const loadedPods = 10_000

var _ = Describe("Ten thousand pods of ordinary size", func() {
	It("load, and informers sync them in JSON and in protobuf", func(ctx SpecContext) {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Close)
		loadPods(ctx, kubernetes.NewForConfigOrDie(protobuf(server.Config())))

		for _, config := range []*rest.Config{server.Config(), protobuf(server.Config())} {
			client := kubernetes.NewForConfigOrDie(config)
			source := reflector.FromREST[*corev1.Pod](client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll)
			inf, err := informer.New(source, informer.Options[*corev1.Pod]{})
			Expect(err).NotTo(HaveOccurred())
			running, stop := context.WithCancel(ctx)
			ended := make(chan error)
			go func() { ended <- inf.Run(running) }()
			Expect(inf.WaitForSync(ctx)).To(Succeed())
			Expect(inf.Snapshot().Len()).To(Equal(loadedPods))
			pod, found := inf.Snapshot().Get("default/shop-1234")
			Expect(found).To(BeTrue())
			Expect(pod.Spec.Volumes).To(Equal(ordinaryPod(1234).Spec.Volumes))
			served, err := client.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(pod.Spec).To(Equal(served.Spec), "with the defaults that the server set")
			stop()
			<-ended
		}
	})
})

func protobuf(config *rest.Config) *rest.Config {
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return config
}

func loadPods(ctx context.Context, client kubernetes.Interface) {
	GinkgoHelper()
	for i := range loadedPods {
		_, err := client.CoreV1().Pods("default").Create(ctx, ordinaryPod(i), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

// ordinaryPod is a pod of a Deployment, about 5 KB of JSON.
func ordinaryPod(i int) *corev1.Pod {
	name := fmt.Sprintf("shop-%d", i)
	environment := []corev1.EnvVar{}
	for _, variable := range []string{"DATABASE_HOST", "DATABASE_PORT", "CACHE_HOST", "LOG_LEVEL", "FEATURE_FLAGS"} {
		environment = append(environment, corev1.EnvVar{Name: variable, Value: strings.Repeat("value", 10)})
	}
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example/shop/" + name + ":v1.2.3", Env: environment,
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("256Mi")},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/shop", ReadOnly: true}},
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default",
			Labels:      map[string]string{"app": "shop", "pod-template-hash": "5d59d67564", "tier": "web"},
			Annotations: map[string]string{"example.com/notes": strings.Repeat("an ordinary note ", 60)},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%300), ServiceAccountName: "shop",
			Containers: []corev1.Container{container("web"), container("sidecar")},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "shop"}},
			}}},
		},
	}
}
