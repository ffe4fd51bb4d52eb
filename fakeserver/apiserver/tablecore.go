package apiserver

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// corePrinters print the kinds of the core group, but for pods and workloads.
var corePrinters = map[schema.GroupResource]*printer{
	{Resource: "configmaps"}: named(func(o *corev1.ConfigMap) []any {
		return []any{int64(len(o.Data) + len(o.BinaryData))}
	}, text("Data", corev1.ConfigMap{}.SwaggerDoc()["data"])),
	{Resource: "secrets"}: named(func(o *corev1.Secret) []any {
		return []any{string(o.Type), int64(len(o.Data))}
	}, text("Type", corev1.Secret{}.SwaggerDoc()["type"]), text("Data", corev1.Secret{}.SwaggerDoc()["data"])),
	{Resource: "namespaces"}: named(func(o *corev1.Namespace) []any {
		return []any{string(o.Status.Phase)}
	}, text("Status", "Phase of the namespace's life.")),
	{Resource: "serviceaccounts"}: named(func(*corev1.ServiceAccount) []any { return nil }),
	{Resource: "componentstatuses"}: printing(componentCells, nameColumn, text("Status", "Health of the component."),
		text("Message", "What the component says of itself."), text("Error", "What is wrong with the component.")),
	{Resource: "resourcequotas"}: named(quotaCells, text("Request", "Used and allowed requests."),
		text("Limit", "Used and allowed limits.")),
	{Resource: "nodes"}:  nodePrinter,
	{Resource: "events"}: eventPrinter,
	{Resource: "persistentvolumes"}: named(volumeCells, text("Capacity", "Size of the volume."),
		text("Access Modes", "Ways in which the volume can be mounted."),
		text("Reclaim Policy", "What becomes of the volume when its claim is gone."),
		text("Status", "Phase of the volume's life."), text("Claim", "Claim that the volume is bound to."),
		text("StorageClass", "Class that the volume is of."),
		text("VolumeAttributesClass", "Class of the volume's attributes."),
		text("Reason", "Why the volume is in its phase."), wide(text("VolumeMode", "Block device or file system."))),
	{Resource: "persistentvolumeclaims"}: named(claimCells, text("Status", "Phase of the claim's life."),
		text("Volume", "Volume that the claim is bound to."), text("Capacity", "Size of that volume."),
		text("Access Modes", "Ways in which the volume can be mounted."), text("StorageClass", "Class that is asked for."),
		text("VolumeAttributesClass", "Class of attributes that is asked for."),
		wide(text("VolumeMode", "Block device or file system."))),
}

func componentCells(o *corev1.ComponentStatus) []any {
	status, message, problem := "Unknown", "", ""
	for _, c := range o.Conditions {
		if c.Type != corev1.ComponentHealthy {
			continue
		}
		message, problem = c.Message, c.Error
		switch c.Status {
		case corev1.ConditionTrue:
			status = "Healthy"
		case corev1.ConditionFalse:
			status = "Unhealthy"
		}
	}
	return []any{o.Name, status, message, problem}
}

func quotaCells(o *corev1.ResourceQuota) []any {
	var requests, limits []string
	names := make([]string, 0, len(o.Status.Hard))
	for name := range o.Status.Hard {
		names = append(names, string(name))
	}
	slices.Sort(names)
	for _, name := range names {
		used, hard := o.Status.Used[corev1.ResourceName(name)], o.Status.Hard[corev1.ResourceName(name)]
		usage := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(name, "limits.") {
			limits = append(limits, usage)
		} else {
			requests = append(requests, usage)
		}
	}
	return []any{strings.Join(requests, ", "), strings.Join(limits, ", ")}
}

var nodePrinter = printing(func(o *corev1.Node) []any {
	info := o.Status.NodeInfo
	return []any{
		o.Name, nodeStatus(o), nodeRoles(o), createdAge(o), info.KubeletVersion,
		nodeAddress(o, corev1.NodeInternalIP), nodeAddress(o, corev1.NodeExternalIP),
		orUnknown(info.OSImage), orUnknown(info.KernelVersion), orUnknown(info.ContainerRuntimeVersion),
	}
}, nameColumn, text("Status", "Whether the node is ready, and takes pods."),
	text("Roles", "Roles that labels give the node."), ageColumn, text("Version", "Version of the kubelet."),
	wide(text("Internal-IP", "Address within the cluster.")), wide(text("External-IP", "Address for others.")),
	wide(text("OS-Image", "Operating system that the node says it runs.")),
	wide(text("Kernel-Version", "Kernel that the node says it runs.")),
	wide(text("Container-Runtime", "Container runtime that the node says it runs.")))

func orUnknown(text string) string {
	if text == "" {
		return unknownCell
	}
	return text
}

func nodeStatus(o *corev1.Node) string {
	status := "Unknown"
	for _, c := range o.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if c.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if o.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(o *corev1.Node) string {
	var roles []string
	for label, value := range o.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if label == "kubernetes.io/role" && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return joinOrNone(slices.Compact(roles), ",")
}

func nodeAddress(o *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range o.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return noneCell
}

var eventPrinter = printing(eventCells, text("Last Seen", "When it happened last."),
	text("Type", "Normal or Warning."), text("Reason", "Why the event was recorded, in a word."),
	text("Object", "What the event is about."), wide(text("Subobject", "Part of the object that the event is about.")),
	wide(text("Source", "Who recorded the event.")), text("Message", "What happened."),
	wide(text("First Seen", "When it happened first.")), wide(text("Count", "How often it happened.")), wide(nameColumn))

func eventCells(o *corev1.Event) []any {
	first, last := ageOf(o.FirstTimestamp), ageOf(o.LastTimestamp)
	if o.FirstTimestamp.IsZero() {
		first = ageOf(metav1.Time{Time: o.EventTime.Time})
	}
	if o.LastTimestamp.IsZero() {
		last = first
	}
	count := int64(o.Count)
	if o.Series != nil {
		count, last = int64(o.Series.Count), ageOf(metav1.Time{Time: o.Series.LastObservedTime.Time})
	} else if count == 0 {
		count = 1
	}
	about := o.InvolvedObject.Name
	if o.InvolvedObject.Kind != "" {
		about = strings.ToLower(o.InvolvedObject.Kind) + "/" + about
	}
	return []any{
		last, o.Type, o.Reason, about, o.InvolvedObject.FieldPath, eventReporter(o), strings.TrimSpace(o.Message), first, count, o.Name,
	}
}

func eventReporter(o *corev1.Event) string {
	component, instance := o.Source.Component, o.Source.Host
	if component == "" {
		component = o.ReportingController
	}
	if instance == "" {
		instance = o.ReportingInstance
	}
	if instance == "" {
		return component
	}
	return component + ", " + instance
}

// modesText shortens access modes, each once.
func modesText(modes []corev1.PersistentVolumeAccessMode) string {
	short := []struct {
		mode corev1.PersistentVolumeAccessMode
		text string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	}
	var texts []string
	for _, s := range short {
		if slices.Contains(modes, s.mode) {
			texts = append(texts, s.text)
		}
	}
	return strings.Join(texts, ",")
}

func volumeCells(o *corev1.PersistentVolume) []any {
	claim := ""
	if ref := o.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	phase := string(o.Status.Phase)
	if o.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	size := o.Spec.Capacity[corev1.ResourceStorage]
	return []any{
		size.String(), modesText(o.Spec.AccessModes), string(o.Spec.PersistentVolumeReclaimPolicy), phase, claim,
		o.Spec.StorageClassName, derefOr(o.Spec.VolumeAttributesClassName, unsetCell), o.Status.Reason,
		derefOr(o.Spec.VolumeMode, unsetCell),
	}
}

func claimCells(o *corev1.PersistentVolumeClaim) []any {
	phase, size, modes := string(o.Status.Phase), "", ""
	if o.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	if o.Spec.VolumeName != "" {
		modes = modesText(o.Status.AccessModes)
		quantity := o.Status.Capacity[corev1.ResourceStorage]
		size = quantity.String()
	}
	return []any{
		phase, o.Spec.VolumeName, size, modes, deref(o.Spec.StorageClassName),
		derefOr(o.Spec.VolumeAttributesClassName, unsetCell), derefOr(o.Spec.VolumeMode, unsetCell),
	}
}
