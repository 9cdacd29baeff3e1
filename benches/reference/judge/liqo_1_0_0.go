//go:build liqo_1_0_0

package main

const liqoVersion = "1.0.0"
