//go:build liqo_1_0_3

package main

const liqoVersion = "1.0.3"
