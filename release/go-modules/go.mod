module liqo-auth.invalid/release/go-modules

go 1.25.5

require golang.org/x/mod v0.29.0
