package liqoauth

// Policy is which forms of an honest message are accepted. It never decides which
// cluster may become which user.
type Policy struct {
	// Forms is Canonical if it is empty.
	Forms Forms `json:"forms,omitempty"`
	// Limits of single sizes, by their names in the library's documentation.
	Limits map[string]uint64 `json:"limits,omitempty"`
	// Addresses that the API server of a provider may have.
	Addresses *Addresses `json:"addresses,omitempty"`
}

// Addresses are ranges, such as 10.96.0.0/12. Loopback addresses are refused by themselves.
// Names are not looked up: whoever connects checks the addresses of a name.
type Addresses struct {
	// Allowed ranges are allowed although they are refused otherwise.
	Allowed []string `json:"allowed,omitempty"`
	// Refused ranges should contain those of the cluster's own Services.
	Refused []string `json:"refused,omitempty"`
}

// Forms of a message.
type Forms string

const (
	// Canonical accepts only what Liqo itself writes.
	Canonical Forms = "canonical"
	// Compatible also accepts a closed list of harmless variants.
	Compatible Forms = "compatible"
)
