package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAPodIsPatchedOnlyIfItsTeamIsNotThatOfItsNamespace(t *testing.T) {
	const none = "none"
	labelled := func(team string) map[string]string {
		if team == none {
			return map[string]string{"app": "web"}
		}
		return map[string]string{"app": "web", teamLabel: team}
	}
	now := metav1.Now()
	for _, test := range []struct {
		name           string
		pod, namespace string
		deleted        *metav1.Time
		patch          string // "" is none
	}{
		{name: "as it should be", pod: "web", namespace: "web"},
		{name: "neither has a team", pod: none, namespace: none},
		{name: "new", pod: none, namespace: "web", patch: `{"metadata":{"uid":"1","labels":{"example.com/team":"web"}}}`},
		{name: "another team", pod: "shop", namespace: "web", patch: `{"metadata":{"uid":"1","labels":{"example.com/team":"web"}}}`},
		{name: "no team any more", pod: "shop", namespace: none, patch: `{"metadata":{"uid":"1","labels":{"example.com/team":null}}}`},
		{name: "an empty team is one", pod: none, namespace: "", patch: `{"metadata":{"uid":"1","labels":{"example.com/team":""}}}`},
		{name: "on its way out", pod: none, namespace: "web", deleted: &now},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1", Labels: labelled(test.pod), DeletionTimestamp: test.deleted}}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: labelled(test.namespace)}}
		patch, needed := plan(pod, namespace)
		if string(patch) != test.patch || needed != (test.patch != "") {
			t.Errorf("%s: patch %q, needed %t", test.name, patch, needed)
		}
	}
}
