package fakeserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigName is the name of the cluster, the user and the context in a
// kubeconfig written here.
const kubeconfigName = "fakeserver"

// WriteKubeconfig writes a kubeconfig to path (mode 0600) whose only context,
// "fakeserver", reaches the server at url, as returned by Listen. An existing
// file is replaced only if it was written by this function: one that holds any
// other context is left alone, with an error. The folder must exist.
func WriteKubeconfig(path, url string) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("fakeserver: write kubeconfig: its folder must exist: %w", err)
	}
	old, err := clientcmd.LoadFromFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("fakeserver: write kubeconfig: %s exists and is not a kubeconfig; choose another path: %w", path, err)
	case !ours(old):
		return fmt.Errorf("fakeserver: write kubeconfig: %s holds other contexts; it was left as it is, choose another path", path)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[kubeconfigName] = &clientcmdapi.Cluster{Server: url}
	config.AuthInfos[kubeconfigName] = &clientcmdapi.AuthInfo{}
	config.Contexts[kubeconfigName] = &clientcmdapi.Context{Cluster: kubeconfigName, AuthInfo: kubeconfigName}
	config.CurrentContext = kubeconfigName
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("fakeserver: write kubeconfig: %w", err)
	}
	return nil
}

// ours tells a kubeconfig of WriteKubeconfig, or an empty one, from a user's.
func ours(config *clientcmdapi.Config) bool {
	for name := range config.Contexts {
		if name != kubeconfigName {
			return false
		}
	}
	for name := range config.Clusters {
		if name != kubeconfigName {
			return false
		}
	}
	for name := range config.AuthInfos {
		if name != kubeconfigName {
			return false
		}
	}
	return true
}
