//go:build !liqo_1_0_0 && !liqo_1_0_3 && !liqo_1_1_2

package main

const liqoVersion = "1.2.0"
