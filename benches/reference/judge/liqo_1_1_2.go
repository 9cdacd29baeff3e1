//go:build liqo_1_1_2

package main

const liqoVersion = "1.1.2"
