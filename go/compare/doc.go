// Package compare runs Liqo's functions and those of liqoauth side by side. It is a
// module of its own, since Liqo's packages need Liqo's replacements.
package compare
