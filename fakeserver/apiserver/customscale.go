package apiserver

import (
	"fmt"
	"math"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
)

// noReplicas stands in a Scale for replicas that the object does not have.
const noReplicas = math.MinInt32

// showScale fills in a Scale from where the definition says that its fields are.
func (v *customVersion) showScale(obj *unstructured.Unstructured, scale *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	wanted, has, err := unstructured.NestedInt64(obj.Object, crd.Path(v.scale.SpecReplicasPath)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	scale.Spec.Replicas = int32(wanted)
	if !has {
		scale.Spec.Replicas = noReplicas
	}
	actual, _, err := unstructured.NestedInt64(obj.Object, crd.Path(v.scale.StatusReplicasPath)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	scale.Status.Replicas = int32(actual)
	if path := v.scale.LabelSelectorPath; path != nil && *path != "" {
		if scale.Status.Selector, _, err = unstructured.NestedString(obj.Object, crd.Path(*path)...); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCodec, err)
		}
	}
	return scale, nil
}

// setReplicas writes to obj, which must be the caller's own.
func (v *customVersion) setReplicas(obj *unstructured.Unstructured, replicas int32) error {
	if replicas == noReplicas {
		return apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", v.scale.SpecReplicasPath))
	}
	if err := unstructured.SetNestedField(obj.Object, int64(replicas), crd.Path(v.scale.SpecReplicasPath)...); err != nil {
		return fmt.Errorf("%w: %w", ErrCodec, err)
	}
	return nil
}

// replicaPaths say where the replicas are in every version.
func (c *customResource) replicaPaths() managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for _, r := range c.resources {
		paths[r.gvk.GroupVersion().String()] = nil
		if scale := r.custom.scale; scale != nil {
			var path fieldpath.Path
			for _, name := range crd.Path(scale.SpecReplicasPath) {
				path = append(path, fieldpath.MakePathOrDie(name)...)
			}
			paths[r.gvk.GroupVersion().String()] = path
		}
	}
	return paths
}
