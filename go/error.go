package liqoauth

import (
	"fmt"
	"strings"
)

// Error is a refusal, or a fault on this side. It carries no secret.
type Error struct {
	// Code is the stable name of the fault, such as "nonce-expired".
	Code Code `json:"code"`
	// Fault is the family: PeerMisbehaved, PeerIncompatible, Policy, Precondition,
	// Local or ApiMisuse. PeerIncompatible blames nobody: a certificate that has
	// expired (the code "certificate-expired") and an API server or CA that was
	// changed ("endpoint-changed") are in it.
	Fault string `json:"fault"`
	// Rule is the number of the rule that is broken; 0 if the fault breaks none.
	Rule int `json:"rule,omitempty"`
	// Object is where the fault was found; nil if it is in no object.
	Object *ObjectReference `json:"object,omitempty"`
	// Field of the object, such as "spec.csr".
	Field string `json:"field,omitempty"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Advice says in one sentence what a person can do.
	Advice string `json:"advice"`
	// Remedy is what an administrator of this cluster can do, by the means of this library; nil
	// if something else helps, which the advice says.
	Remedy *Remedy `json:"remedy,omitempty"`
	// Disposition is what a controller does: retry, waitForChange or giveUp.
	Disposition string `json:"disposition"`
}

// Code is the stable name of a fault. It is an error only to be compared:
//
//	errors.Is(err, liqoauth.Code("key-changed"))
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Error returns the place and the message.
func (e *Error) Error() string {
	var place []string
	if e.Object != nil {
		place = append(place, e.Object.String())
	}
	if e.Field != "" {
		place = append(place, e.Field)
	}
	if len(place) == 0 {
		return e.Message
	}
	return strings.Join(place, " ") + ": " + e.Message
}

// Is reports whether the target is the error's Code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && e.Code == code
}

// ObjectReference names a Kubernetes object.
type ObjectReference struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String returns the kind, the namespace and the name.
func (r ObjectReference) String() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s %s", r.Kind, r.Name)
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}
