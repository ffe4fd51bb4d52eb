package reflector

import (
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	defaultInterned = 10_000
	// longestInterned: longer strings hardly ever repeat.
	longestInterned = 128
)

// internTable keeps strings that may come again. When it is full it begins anew:
// what is in use comes back by itself.
type internTable struct {
	limit int

	mu    sync.Mutex
	texts map[string]string // guarded by mu
}

func newInternTable(limit int) *internTable {
	return &internTable{limit: limit, texts: map[string]string{}}
}

// one makes text the table's own copy of it, with mu held.
func (t *internTable) one(text *string) {
	if *text == "" || len(*text) > longestInterned {
		return
	}
	if kept, ok := t.texts[*text]; ok {
		*text = kept
		return
	}
	if len(t.texts) >= t.limit {
		clear(t.texts)
	}
	*text = strings.Clone(*text) // not part of something large
	t.texts[*text] = *text
}

// pairs shares keys and, on request, values of a map, with mu held.
func (t *internTable) pairs(pairs map[string]string, values bool) map[string]string {
	if len(pairs) == 0 {
		return pairs
	}
	shared := make(map[string]string, len(pairs))
	for key, value := range pairs {
		t.one(&key)
		if values {
			t.one(&value)
		}
		shared[key] = value
	}
	return shared
}

// object shares the strings of an object that was just decoded and nobody else
// has seen.
func (t *internTable) object(object Object) {
	var meta *metav1.ObjectMeta
	if accessor, ok := object.(metav1.ObjectMetaAccessor); ok {
		meta, _ = accessor.GetObjectMeta().(*metav1.ObjectMeta)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if meta != nil {
		t.metadata(meta)
	}
	if pod, ok := object.(*corev1.Pod); ok {
		t.pod(pod)
	}
}

// metadata shares what objects of every kind have, with mu held.
func (t *internTable) metadata(meta *metav1.ObjectMeta) {
	t.one(&meta.Namespace)
	t.one(&meta.GenerateName)
	meta.Labels = t.pairs(meta.Labels, true)
	meta.Annotations = t.pairs(meta.Annotations, false)
	for i := range meta.OwnerReferences {
		owner := &meta.OwnerReferences[i]
		t.one(&owner.APIVersion)
		t.one(&owner.Kind)
		t.one(&owner.Name)
		t.one((*string)(&owner.UID))
	}
	for i := range meta.Finalizers {
		t.one(&meta.Finalizers[i])
	}
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		t.one(&entry.Manager)
		t.one((*string)(&entry.Operation))
		t.one(&entry.APIVersion)
		t.one(&entry.FieldsType)
		t.one(&entry.Subresource)
	}
}

// pod shares what the most numerous kind has besides, with mu held.
func (t *internTable) pod(pod *corev1.Pod) {
	spec, status := &pod.Spec, &pod.Status
	for _, text := range []*string{&spec.NodeName, &spec.ServiceAccountName, &spec.DeprecatedServiceAccount, &spec.SchedulerName,
		&spec.PriorityClassName, (*string)(&spec.RestartPolicy), (*string)(&spec.DNSPolicy), (*string)(&status.Phase),
		(*string)(&status.QOSClass), &status.HostIP} {
		t.one(text)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			t.container(&containers[i])
		}
	}
	for i := range spec.Tolerations {
		t.one(&spec.Tolerations[i].Key)
		t.one((*string)(&spec.Tolerations[i].Operator))
		t.one((*string)(&spec.Tolerations[i].Effect))
	}
	for i := range status.Conditions {
		t.one((*string)(&status.Conditions[i].Type))
		t.one((*string)(&status.Conditions[i].Status))
		t.one(&status.Conditions[i].Reason)
	}
	for _, statuses := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range statuses {
			t.one(&statuses[i].Name)
			t.one(&statuses[i].Image)
			t.one(&statuses[i].ImageID)
		}
	}
}

func (t *internTable) container(c *corev1.Container) {
	t.one(&c.Name)
	t.one(&c.Image)
	t.one((*string)(&c.ImagePullPolicy))
	t.one((*string)(&c.TerminationMessagePolicy))
	t.one(&c.TerminationMessagePath)
	for i := range c.Env {
		t.one(&c.Env[i].Name)
		t.one(&c.Env[i].Value)
	}
	for i := range c.VolumeMounts {
		t.one(&c.VolumeMounts[i].Name)
		t.one(&c.VolumeMounts[i].MountPath)
	}
	for i := range c.Ports {
		t.one(&c.Ports[i].Name)
		t.one((*string)(&c.Ports[i].Protocol))
	}
	for _, texts := range [][]string{c.Command, c.Args} {
		for i := range texts {
			t.one(&texts[i])
		}
	}
}
