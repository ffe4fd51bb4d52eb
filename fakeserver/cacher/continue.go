package cacher

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// tokenVersion names the format of continue tokens.
const tokenVersion = "meta.k8s.io/v1"

// inconsistent is the resource version of a token that goes on at whatever the
// current state is.
const inconsistent = -1

// continueToken is where the next page of a list begins. Field names are part
// of what clients see in errors.
type continueToken struct {
	Version         string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

// encodeContinue makes the token of a list that goes on at key, an Item's key or
// one made from it, within namespace ("" for all).
func encodeContinue(namespace, key string, rv int64) string {
	first, _ := bounds(namespace)
	text, err := json.Marshal(continueToken{
		Version: tokenVersion, ResourceVersion: rv, StartKey: "/" + strings.TrimPrefix(key, first),
	})
	if err != nil {
		panic(err) // a struct of strings and numbers always encodes
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodeContinue reads a token of a list within namespace. The start key may
// lack its leading slash, as the tokens of etcd do, and cannot leave the
// namespace.
func decodeContinue(namespace, token string) (key string, rv int64, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", 0, badContinue(err)
	}
	var decoded continueToken
	if err := json.Unmarshal(text, &decoded); err != nil {
		return "", 0, badContinue(err)
	}
	switch {
	case decoded.Version != tokenVersion:
		return "", 0, badContinue(fmt.Errorf("server does not recognize this encoded version %s", decoded.Version))
	case decoded.ResourceVersion == 0:
		return "", 0, badContinue(errors.New("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"))
	case decoded.StartKey == "":
		return "", 0, badContinue(errors.New("encoded start key empty (version meta.k8s.io/v1)"))
	}
	absolute := decoded.StartKey
	if !strings.HasPrefix(absolute, "/") {
		absolute = "/" + absolute
	}
	if path.Clean(absolute) != absolute {
		return "", 0, badContinue(errors.New(decoded.StartKey))
	}
	first, _ := bounds(namespace)
	return first + absolute[1:], decoded.ResourceVersion, nil
}

// badContinue wraps what is wrong with a token.
func badContinue(err error) error { return fmt.Errorf("continue key is not valid: %w", err) }
