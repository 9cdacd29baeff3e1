// Command judge reads the files of one exchange, made by any implementation,
// and judges them by the functions of Liqo itself, of client-go and of Go's
// crypto/x509.
//
//	judge DIR
//
// It prints `ok WHAT` or `FAILED WHAT: WHY` for each check, then `N passed, N
// failed`. It exits with 1 if a check failed, and with 2 if it was called
// wrongly.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: judge DIR")
		return 2
	}
	if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
		fmt.Fprintf(stderr, "judge: %s is not a directory that can be read\n", args[0])
		return 2
	}

	report := &report{out: stdout}
	judge(args[0], report)
	report.close()
	if report.failed > 0 {
		return 1
	}
	return 0
}

// judge goes through an exchange in the order in which it happened.
func judge(dir string, report *report) {
	exchange := readExchange(dir, report)
	if exchange == nil {
		return
	}
	key := judgeTenant(exchange, report)
	judgeIdentity(exchange, key, report)
	private := judgeKubeconfig(exchange, key, report)
	judgeSlices(exchange, key, private, report)
	judgeSliceIdentities(exchange, key, report)
	judgeSliceKubeconfigs(exchange, key, report)
	judgeRenews(exchange, key, private, report)
	judgePeeringUser(exchange, report)
}
