package main

import (
	"errors"
	"fmt"
	"net/url"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"k8s.io/utils/ptr"
)

// judgeAuthParams holds wherever a provider answers: in Identities, and in the
// status of slices and Renews.
func judgeAuthParams(whose string, params *authv1beta1.AuthParams, key *publicKey, right subject, exchange *exchange, report *report) {
	report.check(whose+" API server is an https URL", func() error {
		return checkServer(params.APIServer)
	})
	report.check(whose+" proxy is the one that the Tenant asked for", func() error {
		if exchange.tenant == nil {
			return errors.New("there is no Tenant to compare with")
		}
		return equal(ptr.Deref(params.ProxyURL, ""), ptr.Deref(exchange.tenant.Spec.ProxyURL, ""))
	})
	judgeCertificate(&clientCertificate{
		whose:   whose,
		chain:   params.SignedCRT,
		ca:      params.CA,
		caIn:    "authParams.ca",
		key:     key,
		subject: right,
	}, exchange.now, report)
}

func checkServer(text string) error {
	server, err := url.Parse(text)
	if err != nil {
		return err
	}
	if server.Scheme != "https" || server.Hostname() == "" || server.User != nil {
		return fmt.Errorf("found %q, not https://HOST without user information", text)
	}
	return nil
}
