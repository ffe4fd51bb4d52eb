package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// readKubeconfig reads one context of a kubeconfig, the current one if the name
// is empty.
func readKubeconfig(path, context string) (*rest.Config, error) {
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, explainLoad(path, err)
	}
	if len(file.Contexts) == 0 {
		return nil, fmt.Errorf("kubeconfig %s: it has no contexts; check that it is a kubeconfig", path)
	}
	if context == "" {
		context = file.CurrentContext
	}
	if context == "" {
		return nil, fmt.Errorf("kubeconfig %s: it has no current context; choose one with -context (%s)", path, contextsOf(file))
	}
	if _, known := file.Contexts[context]; !known {
		return nil, fmt.Errorf("kubeconfig %s: there is no context %q; choose one with -context (%s)", path, context, contextsOf(file))
	}
	if err := clientcmd.ResolveLocalPaths(file); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*file, context, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s, context %q: %w", path, context, err)
	}
	config.QPS, config.Burst = 50, 100 // a few dozen informers start at once
	return config, nil
}

// explainLoad says why a file could not be read, or that it holds something
// else. What the decoder says of that speaks of its own types, not of the file.
func explainLoad(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("kubeconfig %s: no such file; check the path", path)
	}
	if denied, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("kubeconfig %s: cannot read it: %w", path, denied.Err)
	}
	what := "it is no kubeconfig"
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mismatch.Field != "" {
		what += fmt.Sprintf(": %s may not be a %s", mismatch.Field, mismatch.Value)
	} else if runtime.IsNotRegisteredError(err) {
		what += ", but another object of Kubernetes"
	} else if _, detail, isYAML := strings.Cut(err.Error(), "yaml: "); isYAML {
		what += ", nor any YAML: " + strings.Join(strings.Fields(detail), " ")
	}
	return fmt.Errorf("kubeconfig %s: %s; a kubeconfig has clusters, users and contexts, and is often ~/.kube/config", path, what)
}

func contextsOf(file *api.Config) string {
	return "it has " + strings.Join(slices.Sorted(maps.Keys(file.Contexts)), ", ")
}
