// The programs of unmodified Liqo for the tests on real clusters. Each version has
// module files of its own: go-1.2.0.mod and so on, by -modfile.
module liqo-auth.invalid/e2e/liqo

go 1.25.5
