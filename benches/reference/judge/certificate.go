package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
)

// subject is whom a client certificate names.
type subject struct{ commonName, organization string }

// parseChain reads PEM blocks, all of which must be certificates.
func parseChain(text []byte) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("found a PEM block %q, not \"CERTIFICATE\"", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		chain = append(chain, certificate)
		text = rest
	}
	if len(chain) == 0 {
		return nil, errors.New("there is no PEM certificate in it")
	}
	return chain, nil
}

// checkSubject wants what the API server takes for user and group, and nothing
// else in the name.
func checkSubject(certificate *x509.Certificate, right subject) error {
	name := certificate.Subject
	if name.CommonName != right.commonName {
		return fmt.Errorf("common name: found %q, not %q", name.CommonName, right.commonName)
	}
	if len(name.Organization) != 1 || name.Organization[0] != right.organization {
		return fmt.Errorf("organization: found %q, not %q alone", name.Organization, right.organization)
	}
	if len(name.Names) != 2 {
		return fmt.Errorf("found %d attributes in the subject, not 2", len(name.Names))
	}
	return nil
}

// verifyClientCertificate is what the API server does with a client.
func verifyClientCertificate(params *authv1beta1.AuthParams, now time.Time) error {
	chain, err := parseChain(params.SignedCRT)
	if err != nil {
		return err
	}
	if len(params.CA) == 0 {
		return errors.New("authParams.ca is empty")
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(params.CA) {
		return errors.New("there is no certificate in authParams.ca")
	}
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// judgeAuthParams holds for Identities and slices alike.
func judgeAuthParams(whose string, params *authv1beta1.AuthParams, key *tenantKey, right subject, now time.Time, report *report) {
	var leaf *x509.Certificate
	parsed := report.check(whose+" certificate is read by crypto/x509", func() error {
		chain, err := parseChain(params.SignedCRT)
		if err == nil {
			leaf = chain[0]
		}
		return err
	})
	if !parsed {
		return
	}
	report.check(whose+" certificate carries the Tenant's key", func() error {
		return key.matches(leaf.PublicKey)
	})
	report.check(whose+" certificate names "+right.organization+", "+right.commonName, func() error {
		return checkSubject(leaf, right)
	})
	report.check(whose+" certificate is no authority", func() error {
		if leaf.IsCA {
			return errors.New("it is a CA certificate")
		}
		return nil
	})
	report.check(whose+" certificate is verified by authParams.ca for client authentication", func() error {
		return verifyClientCertificate(params, now)
	})
}

func checkCSRSignature(text []byte) error {
	block, rest := pem.Decode(text)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("it is not one PEM block")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}
