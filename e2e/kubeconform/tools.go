//go:build tools

// Package tools names the program that the build makes.
package tools

import _ "github.com/yannh/kubeconform/cmd/kubeconform"
