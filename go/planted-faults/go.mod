module liqoauth/planted-faults

go 1.25.5
