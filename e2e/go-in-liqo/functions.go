// Package authentication is Liqo's package of this name. This file takes the place of
// csr.go, and of SignNonce and VerifyNonce in keys.go.
package authentication

import liqoauth "git.example.com/liqo-auth/liqo-auth/go"

// The functions of Liqo's package, from liqoauth.
var (
	SignNonce                    = liqoauth.SignNonce
	VerifyNonce                  = liqoauth.VerifyNonce
	ParseTenantPublicKey         = liqoauth.ParseTenantPublicKey
	GenerateCSRForControlPlane   = liqoauth.GenerateCSRForControlPlane
	GenerateCSRForResourceSlice  = liqoauth.GenerateCSRForResourceSlice
	GenerateCSRForPeerUser       = liqoauth.GenerateCSRForPeerUser
	CheckCSRForControlPlane      = liqoauth.CheckCSRForControlPlane
	CheckCSRForResourceSlice     = liqoauth.CheckCSRForResourceSlice
	CommonNameControlPlaneCSR    = liqoauth.CommonNameControlPlaneCSR
	OrganizationControlPlaneCSR  = liqoauth.OrganizationControlPlaneCSR
	CommonNameResourceSliceCSR   = liqoauth.CommonNameResourceSliceCSR
	OrganizationResourceSliceCSR = liqoauth.OrganizationResourceSliceCSR
	IsControlPlaneUser           = liqoauth.IsControlPlaneUser
)
