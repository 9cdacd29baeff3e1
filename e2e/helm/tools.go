//go:build tools

// Package tools names the program that the build makes.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
