module git.example.com/liqo-auth/liqo-auth/go/planted-faults

go 1.25.5
