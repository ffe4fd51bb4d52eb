package apiserver

import (
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// storagePrinters print the kinds of storage.k8s.io.
var storagePrinters = map[schema.GroupResource]*printer{
	{Group: "storage.k8s.io", Resource: "storageclasses"}: printing(func(o *storagev1.StorageClass) []any {
		name := o.Name
		if o.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			name += " (default)"
		}
		return []any{
			name, o.Provisioner, derefOr(o.ReclaimPolicy, "Delete"), derefOr(o.VolumeBindingMode, unsetCell), deref(o.AllowVolumeExpansion),
			createdAge(o),
		}
	}, nameColumn, text("Provisioner", "Who makes the volumes."), text("ReclaimPolicy", "What becomes of a volume when its claim is gone."),
		text("VolumeBindingMode", "When volumes are made and bound."),
		truth("AllowVolumeExpansion", "Whether volumes may grow."), ageColumn),
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}: named(func(o *storagev1.VolumeAttributesClass) []any {
		return []any{o.DriverName}
	}, text("DriverName", "Driver of the class.")),
	{Group: "storage.k8s.io", Resource: "volumeattachments"}: named(func(o *storagev1.VolumeAttachment) []any {
		return []any{o.Spec.Attacher, deref(o.Spec.Source.PersistentVolumeName), o.Spec.NodeName, o.Status.Attached}
	}, text("Attacher", "Driver that attaches."), text("PV", "Volume that is attached."),
		text("Node", "Node that it is attached to."), truth("Attached", "Whether it is attached yet.")),
	{Group: "storage.k8s.io", Resource: "csinodes"}: named(func(o *storagev1.CSINode) []any {
		return []any{int64(len(o.Spec.Drivers))}
	}, number("Drivers", "Number of drivers on the node.")),
	{Group: "storage.k8s.io", Resource: "csidrivers"}: named(func(o *storagev1.CSIDriver) []any {
		attach := o.Spec.AttachRequired == nil || *o.Spec.AttachRequired
		tokens, modes := unsetCell, "Persistent"
		if len(o.Spec.TokenRequests) > 0 {
			audiences := make([]string, len(o.Spec.TokenRequests))
			for i, t := range o.Spec.TokenRequests {
				audiences[i] = t.Audience
			}
			tokens = strings.Join(audiences, ",")
		}
		if len(o.Spec.VolumeLifecycleModes) > 0 {
			all := make([]string, len(o.Spec.VolumeLifecycleModes))
			for i, m := range o.Spec.VolumeLifecycleModes {
				all[i] = string(m)
			}
			modes = strings.Join(all, ",")
		}
		return []any{
			attach, deref(o.Spec.PodInfoOnMount), deref(o.Spec.StorageCapacity), tokens, deref(o.Spec.RequiresRepublish), modes,
		}
	}, truth("AttachRequired", "Whether volumes must be attached."), truth("PodInfoOnMount", "Whether it is told of pods."),
		truth("StorageCapacity", "Whether it publishes capacities."), text("TokenRequests", "Audiences of the tokens it needs."),
		truth("RequiresRepublish", "Whether it is called again and again."), text("Modes", "Kinds of volumes.")),
	{Group: "storage.k8s.io", Resource: "csistoragecapacities"}: named(func(o *storagev1.CSIStorageCapacity) []any {
		capacity := unsetCell
		if o.Capacity != nil {
			capacity = o.Capacity.String()
		}
		return []any{o.StorageClassName, capacity}
	}, text("StorageClassName", "Class that it is about."), text("Capacity", "Size that is available.")),
}
