package configset

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefinitionName is the name of Definition.
const DefinitionName = Plural + "." + Group

// Definition returns what makes a server serve ConfigSets: a new object each time.
func Definition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: DefinitionName},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: Plural, Singular: Singular, Kind: Kind, ListKind: Kind + "List", ShortNames: []string{"cfs"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: GroupVersion.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schemaOfSet()},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{
						SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: new(".status.selector"),
					},
				},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
					{Name: "Wanted", Type: "integer", JSONPath: ".spec.replicas"},
					{Name: "Ready", Type: "integer", JSONPath: ".status.readyReplicas"},
					{Name: "Reason", Type: "string", JSONPath: `.status.conditions[?(@.type=="` + ConditionReady + `")].reason`},
					{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
				},
			}},
		},
	}
}

func schemaOfSet() *apiextensionsv1.JSONSchemaProps {
	name := scalar("string")
	name.MaxLength = new(int64(MaxName))
	return object("A number of ConfigMaps with the same data.", properties{
		"apiVersion": scalar("string"),
		"kind":       scalar("string"),
		"metadata":   *object("", properties{"name": name}),
		"spec":       schemaOfSpec(),
		"status":     schemaOfStatus(),
	})
}

func schemaOfSpec() apiextensionsv1.JSONSchemaProps {
	replicas := number("int32")
	replicas.Description = "How many ConfigMaps there are to be."
	replicas.Default = &apiextensionsv1.JSON{Raw: []byte("1")}
	replicas.Maximum = new(float64(MaxReplicas))
	data := *object("The data of each ConfigMap.", nil)
	data.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: new(scalar("string"))}
	spec := *object("What is wanted.", properties{"replicas": replicas, "data": data})
	spec.Default = &apiextensionsv1.JSON{Raw: []byte("{}")} // else an absent spec gets no replicas
	return spec
}

func schemaOfStatus() apiextensionsv1.JSONSchemaProps {
	since := scalar("string")
	since.Format = "date-time"
	state := scalar("string")
	state.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"True"`)}, {Raw: []byte(`"False"`)}, {Raw: []byte(`"Unknown"`)}}
	condition := object("", properties{
		"type": scalar("string"), "status": state, "reason": scalar("string"), "message": scalar("string"),
		"observedGeneration": number("int64"), "lastTransitionTime": since,
	})
	condition.Required = []string{"type", "status", "reason", "message", "lastTransitionTime"}
	conditions := apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: condition},
		XListType: new("map"), XListMapKeys: []string{"type"},
	}
	return *object("What the controller has seen.", properties{
		"observedGeneration": number("int64"), "replicas": number("int32"), "readyReplicas": number("int32"),
		"selector": scalar("string"), "conditions": conditions,
	})
}

type properties = map[string]apiextensionsv1.JSONSchemaProps

func object(description string, members properties) *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Description: description, Properties: members}
}

func scalar(kind string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: kind}
}

// number is not negative.
func number(format string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "integer", Format: format, Minimum: new(float64(0))}
}
