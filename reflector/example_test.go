package reflector_test

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/reflector"
)

// printer is a Sink that prints what it is given. A real one would queue.
type printer struct {
	names  []string // of the replacement that is open
	synced func()
	told   func()
}

func (p *printer) BeginReplace(string)             { p.names = nil }
func (p *printer) ReplaceItem(m *corev1.ConfigMap) { p.names = append(p.names, m.Name) }
func (p *printer) AbortReplace()                   { p.names = nil }
func (p *printer) EndReplace(string) {
	fmt.Println("the collection:", strings.Join(p.names, ", "))
	p.synced()
}

func (p *printer) Add(m *corev1.ConfigMap)    { fmt.Println("ADDED", m.Name) }
func (p *printer) Update(m *corev1.ConfigMap) { fmt.Println("MODIFIED", m.Name, m.Data) }
func (p *printer) Bookmark(string)            {}
func (p *printer) Delete(m *corev1.ConfigMap) {
	fmt.Println("DELETED", m.Name)
	p.told()
}

func Example() {
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := kubernetes.NewForConfigOrDie(server.Config())
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	maps := client.CoreV1().ConfigMaps("default")
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}
	if _, err := maps.Create(ctx, greeting, metav1.CreateOptions{}); err != nil {
		fmt.Println(err)
		return
	}

	synced := make(chan struct{})
	source := reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", "default")
	r, err := reflector.New(source, &printer{synced: func() { close(synced) }, told: stop}, reflector.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		<-synced
		greeting.Data = map[string]string{"to": "world"}
		_, _ = maps.Update(ctx, greeting, metav1.UpdateOptions{})
		_ = maps.Delete(ctx, "greeting", metav1.DeleteOptions{})
	}()
	fmt.Println("ended:", r.Run(ctx)) // not before ctx
	fmt.Println("it is", r.Status().Phase)

	// Output:
	// the collection: greeting
	// MODIFIED greeting map[to:world]
	// DELETED greeting
	// ended: context canceled
	// it is stopped
}
