package liqoauth

// Policy is which forms of an honest message are accepted. It never decides which
// cluster may become which user.
type Policy struct {
	// Forms is Canonical if it is empty.
	Forms Forms `json:"forms,omitempty"`
	// Limits of single sizes, by their names in the library's documentation.
	Limits map[string]uint64 `json:"limits,omitempty"`
}

// Forms of a message.
type Forms string

const (
	// Canonical accepts only what Liqo itself writes.
	Canonical Forms = "canonical"
	// Compatible also accepts a closed list of harmless variants.
	Compatible Forms = "compatible"
)
