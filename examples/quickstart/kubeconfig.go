package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// readKubeconfig reads one context of a kubeconfig, the current one if the name
// is empty.
func readKubeconfig(path, context string) (*rest.Config, error) {
	file, err := clientcmd.LoadFromFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("kubeconfig %s: no such file; check the path", path)
	case err != nil:
		return nil, fmt.Errorf("kubeconfig %s: %w; check that it is a kubeconfig and may be read", path, err)
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

func contextsOf(file *api.Config) string {
	names := slices.Sorted(maps.Keys(file.Contexts))
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}
