package main

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// teamLabel is the label of namespaces and pods that names a team.
const teamLabel = "example.com/team"

// team is what an object says of its team.
type team struct {
	name  string
	known bool // it has the label, which may be empty
}

func teamOf(obj metav1.Object) team {
	name, known := obj.GetLabels()[teamLabel]
	return team{name: name, known: known}
}

// plan returns the strategic merge patch that gives pod the label it should have in
// namespace, and false if nothing is to be done.
func plan(pod *corev1.Pod, namespace *corev1.Namespace) (patch []byte, needed bool) {
	if pod.DeletionTimestamp != nil {
		return nil, false // it is of no use to anyone any more
	}
	wanted := teamOf(namespace)
	if teamOf(pod) == wanted {
		return nil, false
	}
	var change podPatch
	change.Metadata.UID = pod.UID
	change.Metadata.Labels = map[string]*string{teamLabel: nil} // which removes it
	if wanted.known {
		change.Metadata.Labels[teamLabel] = &wanted.name
	}
	patch, err := json.Marshal(change)
	if err != nil {
		panic(err) // it is made of strings
	}
	return patch, true
}

// podPatch is as much of a pod as is written. The UID is not changed by it: if the pod
// has another one, the server refuses the patch as invalid.
type podPatch struct {
	Metadata struct {
		UID    types.UID          `json:"uid"`
		Labels map[string]*string `json:"labels"`
	} `json:"metadata"`
}
