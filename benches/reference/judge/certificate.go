package main

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
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

// checkName wants what the API server takes for user and group, and nothing
// else in the name.
func checkName(name *pkix.Name, right subject) error {
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

// clientCertificate is what a client shows, and what is right for it.
type clientCertificate struct {
	whose string
	chain []byte
	// ca is what must have issued it, and caIn where that was found.
	ca      []byte
	caIn    string
	key     *publicKey
	subject subject
}

func judgeCertificate(shown *clientCertificate, now time.Time, report *report) {
	var leaf *x509.Certificate
	parsed := report.check(shown.whose+" certificate is read by crypto/x509", func() error {
		chain, err := parseChain(shown.chain)
		if err == nil {
			leaf = chain[0]
		}
		return err
	})
	if !parsed {
		return
	}
	report.check(shown.whose+" certificate carries "+shown.key.name()+" key", func() error {
		return shown.key.matches(leaf.PublicKey)
	})
	report.check(shown.whose+" certificate names "+shown.subject.organization+", "+shown.subject.commonName, func() error {
		return checkName(&leaf.Subject, shown.subject)
	})
	report.check(shown.whose+" certificate is no authority", func() error {
		if leaf.IsCA {
			return errors.New("it is a CA certificate")
		}
		return nil
	})
	report.check(shown.whose+" certificate is verified by "+shown.caIn+" for client authentication", func() error {
		return verifyClientCertificate(shown, now)
	})
}

// verifyClientCertificate is what the API server does with a client.
func verifyClientCertificate(shown *clientCertificate, now time.Time) error {
	chain, err := parseChain(shown.chain)
	if err != nil {
		return err
	}
	if len(shown.ca) == 0 {
		return fmt.Errorf("%s is empty", shown.caIn)
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(shown.ca) {
		return fmt.Errorf("there is no certificate in %s", shown.caIn)
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
