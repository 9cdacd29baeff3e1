//go:build !liqo_1_0_0

// Command handshake measures one whole handshake, in memory, with the
// functions of Liqo itself and Ed25519 keys.
//
//	handshake [-seconds 0.3] [-only STAGE]
//
// Each line is `STAGE NANOSECONDS`, per operation. `whole` is all stages in
// turn, from the nonce to the kubeconfig. `csr-signature` is no part of it: in
// a cluster the API server does it, and Liqo does not.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	seconds := flag.Float64("seconds", 0.3, "how long one of the rounds lasts, for each stage")
	only := flag.String("only", "", "measure this stage alone")
	flag.Parse()
	if flag.NArg() > 0 || *seconds <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*seconds, *only); err != nil {
		fmt.Fprintln(os.Stderr, "handshake:", err)
		os.Exit(1)
	}
}

func run(seconds float64, only string) error {
	clusters, err := newClusters()
	if err != nil {
		return err
	}
	// The whole comes first: it leaves what the stages alone start from.
	if err := clusters.whole(); err != nil {
		return err
	}
	if err := clusters.checkResult(); err != nil {
		return err
	}

	stages := clusters.stages()
	if only != "" {
		stages, err = pick(stages, only)
		if err != nil {
			return err
		}
	}
	nanoseconds, err := measure(stages, seconds)
	if err != nil {
		return err
	}
	for i, stage := range stages {
		fmt.Println(stage.name, nanoseconds[i])
	}
	return nil
}

func pick(stages []stage, name string) ([]stage, error) {
	for i := range stages {
		if stages[i].name == name {
			return stages[i : i+1], nil
		}
	}
	return nil, fmt.Errorf("there is no stage %q", name)
}
