package apiserver

import (
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// policyPrinters print the kinds that rule the others.
var policyPrinters = mergePrinters(admissionPrinters, map[schema.GroupResource]*printer{
	{Group: "coordination.k8s.io", Resource: "leases"}: named(func(o *coordinationv1.Lease) []any {
		return []any{deref(o.Spec.HolderIdentity)}
	}, text("Holder", "Who holds the lease.")),
	{Group: "policy", Resource: "poddisruptionbudgets"}: named(func(o *policyv1.PodDisruptionBudget) []any {
		return []any{percentText(o.Spec.MinAvailable), percentText(o.Spec.MaxUnavailable), int64(o.Status.DisruptionsAllowed)}
	}, text("Min Available", "Least number of pods that must be available."),
		text("Max Unavailable", "Largest number of pods that may be unavailable."),
		number("Allowed Disruptions", "Pods that may be evicted now.")),
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}: printing(func(o *schedulingv1.PriorityClass) []any {
		return []any{o.Name, int64(o.Value), o.GlobalDefault, createdAge(o), derefOr(o.PreemptionPolicy, "PreemptLowerPriority")}
	}, nameColumn, text("Value", "The priority."), truth("Global-Default", "Whether pods without a class get it."),
		ageColumn, text("PreemptionPolicy", "Whether others make room.")),
	{Group: "node.k8s.io", Resource: "runtimeclasses"}: named(func(o *nodev1.RuntimeClass) []any {
		return []any{o.Handler}
	}, text("Handler", "Configuration of the container runtime.")),
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}: named(func(o *rbacv1.RoleBinding) []any {
		return bindingCells(o.RoleRef, o.Subjects)
	}, bindingColumns...),
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: named(func(o *rbacv1.ClusterRoleBinding) []any {
		return bindingCells(o.RoleRef, o.Subjects)
	}, bindingColumns...),
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}:           certificatePrinter,
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}:                 flowSchemaPrinter,
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "prioritylevelconfigurations"}: priorityLevelPrinter,
	{Group: "resource.k8s.io", Resource: "deviceclasses"}:                            named(func(*resourcev1.DeviceClass) []any { return nil }),
	{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}:                   named(func(*resourcev1.ResourceClaimTemplate) []any { return nil }),
	{Group: "resource.k8s.io", Resource: "resourceclaims"}: named(func(o *resourcev1.ResourceClaim) []any {
		return []any{claimState(o)}
	}, text("State", "What became of the claim.")),
	{Group: "resource.k8s.io", Resource: "resourceslices"}: named(func(o *resourcev1.ResourceSlice) []any {
		return []any{derefOr(o.Spec.NodeName, unsetCell), o.Spec.Driver, o.Spec.Pool.Name}
	}, text("Node", "Node that has the resources."), text("Driver", "Driver of the resources."),
		text("Pool", "Pool that they belong to.")),
})

// bindingColumns have wide columns after the age, as named puts them.
var bindingColumns = []metav1.TableColumnDefinition{
	text("Role", "Role that is given."), wide(text("Users", "Users that it is given to.")),
	wide(text("Groups", "Groups that it is given to.")),
	wide(text("ServiceAccounts", "Service accounts that it is given to.")),
}

func bindingCells(role rbacv1.RoleRef, subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{
		role.Kind + "/" + role.Name, strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}

var certificatePrinter = printing(func(o *certificatesv1.CertificateSigningRequest) []any {
	lifetime := noneCell
	if s := o.Spec.ExpirationSeconds; s != nil {
		lifetime = duration.HumanDuration(time.Duration(*s) * time.Second)
	}
	return []any{o.Name, createdAge(o), orNone(o.Spec.SignerName), o.Spec.Username, lifetime, certificateState(o)}
}, nameColumn, ageColumn, text("SignerName", "Who is to sign."), text("Requestor", "Who asked."),
	text("RequestedDuration", "How long the certificate is to last."), text("Condition", "What became of the request."))

func certificateState(o *certificatesv1.CertificateSigningRequest) string {
	state := "Pending"
	var more []string
	for _, c := range o.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateApproved, certificatesv1.CertificateDenied:
			state = string(c.Type)
		default:
			more = append(more, string(c.Type))
		}
	}
	if len(o.Status.Certificate) > 0 {
		more = append(more, "Issued")
	}
	return strings.Join(append([]string{state}, more...), ",")
}

func claimState(o *resourcev1.ResourceClaim) string {
	var states []string
	if o.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	if o.Status.Allocation == nil {
		if o.DeletionTimestamp == nil {
			states = append(states, "pending")
		}
		return strings.Join(states, ",")
	}
	states = append(states, "allocated")
	if len(o.Status.ReservedFor) > 0 {
		states = append(states, "reserved")
	}
	return strings.Join(slices.Compact(states), ",")
}

var flowSchemaPrinter = printing(func(o *flowcontrolv1.FlowSchema) []any {
	distinguisher, missing := noneCell, "?"
	if d := o.Spec.DistinguisherMethod; d != nil {
		distinguisher = string(d.Type)
	}
	for _, c := range o.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			missing = string(c.Status)
		}
	}
	return []any{
		o.Name, o.Spec.PriorityLevelConfiguration.Name, int64(o.Spec.MatchingPrecedence), distinguisher, createdAge(o), missing,
	}
}, nameColumn, text("PriorityLevel", "Level of the requests that match."),
	number("MatchingPrecedence", "Schemas of less come first."), text("DistinguisherMethod", "What tells flows apart."),
	ageColumn, text("MissingPL", "Whether the level does not exist."))

var priorityLevelPrinter = named(func(o *flowcontrolv1.PriorityLevelConfiguration) []any {
	var shares any = unknownCell
	var queues, hand, length any = noneCell, noneCell, noneCell
	switch {
	case o.Spec.Limited != nil:
		shares = derefOr(o.Spec.Limited.NominalConcurrencyShares, unsetCell)
		if q := o.Spec.Limited.LimitResponse.Queuing; q != nil {
			queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	case o.Spec.Exempt != nil:
		shares = derefOr(o.Spec.Exempt.NominalConcurrencyShares, unsetCell)
	}
	return []any{string(o.Spec.Type), shares, queues, hand, length}
}, text("Type", "Exempt or Limited."), text("NominalConcurrencyShares", "Share of the server's seats."),
	text("Queues", "Number of queues."), text("HandSize", "Queues that a flow may use."),
	text("QueueLengthLimit", "Requests that a queue may hold."))

var admissionPrinters = map[schema.GroupResource]*printer{
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}: named(
		func(o *admissionv1.MutatingWebhookConfiguration) []any { return []any{int64(len(o.Webhooks))} },
		number("Webhooks", "Number of webhooks.")),
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}: named(
		func(o *admissionv1.ValidatingWebhookConfiguration) []any { return []any{int64(len(o.Webhooks))} },
		number("Webhooks", "Number of webhooks.")),
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}: named(
		func(o *admissionv1.ValidatingAdmissionPolicy) []any {
			parameters := unsetCell
			if k := o.Spec.ParamKind; k != nil {
				parameters = k.APIVersion + "/" + k.Kind
			}
			return []any{int64(len(o.Spec.Validations)), parameters}
		}, number("Validations", "Number of validations."), text("ParamKind", "Kind of its parameters.")),
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"}: named(
		func(o *admissionv1.ValidatingAdmissionPolicyBinding) []any {
			parameters := unsetCell
			if r := o.Spec.ParamRef; r != nil {
				parameters = r.Name
				if r.Namespace != "" {
					parameters = r.Namespace + "/" + r.Name
				}
			}
			return []any{o.Spec.PolicyName, parameters}
		}, text("PolicyName", "Policy that is bound."), text("ParamRef", "Object with its parameters.")),
}
