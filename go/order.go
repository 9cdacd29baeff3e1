package liqoauth

// Order is a call of a side for one peer that makes a step, such as an administrator's. A
// [Session] carries it out. An order of the other side is refused.
type Order struct{ call any }

// OrderReconcile makes the next steps, for the control plane and each slice.
func OrderReconcile() Order { return Order{"reconcile"} }

// OrderReceive verifies a message of the peer, and stores it.
func OrderReceive(message Message) Order {
	return Order{map[string]any{"receive": message}}
}

// OrderInvite invites a peer: it makes the nonce that the peer signs.
func OrderInvite() Order { return Order{"invite"} }

// OrderReplaceNonce replaces the nonce of a peer, which then counts as used.
func OrderReplaceNonce() Order { return Order{"replaceNonce"} }

// OrderApprove approves the request that waits for an administrator.
func OrderApprove() Order { return Order{"approve"} }

// OrderDeny denies the request that waits for an administrator.
func OrderDeny(reason string) Order {
	return Order{map[string]string{"deny": reason}}
}

// OrderSetCondition sets the condition of a peer: Active, Cordoned or Drained.
func OrderSetCondition(condition string) Order {
	return Order{map[string]string{"setCondition": condition}}
}

// OrderLiftCondition lifts the recorded condition of a peer.
func OrderLiftCondition() Order { return Order{"liftCondition"} }

// OrderReleaseKey forgets the pinned key of a peer.
func OrderReleaseKey() Order { return Order{"releaseKey"} }

// OrderAWSKeyRevoked records that an access key is deleted at AWS.
func OrderAWSKeyRevoked(accessKeyID string) Order {
	return Order{map[string]string{"awsKeyRevoked": accessKeyID}}
}

// OrderSignAgain asks Kubernetes' signer again, after a denial. The slice is empty for the
// control plane.
func OrderSignAgain(slice string) Order {
	var holder any
	if slice != "" {
		holder = slice
	}
	return Order{map[string]any{"signAgain": holder}}
}

// OrderCordonSlice stops a slice from getting more resources.
func OrderCordonSlice(slice string) Order {
	return Order{map[string]string{"cordonSlice": slice}}
}

// OrderUncordonSlice ends the cordon of a slice.
func OrderUncordonSlice(slice string) Order {
	return Order{map[string]string{"uncordonSlice": slice}}
}

// OrderReconsiderSlice decides on the resources of a slice anew.
func OrderReconsiderSlice(slice string) Order {
	return Order{map[string]string{"reconsiderSlice": slice}}
}

// OrderConfirmSlice grants a slice what Liqo granted it beyond AdoptUpTo.
func OrderConfirmSlice(slice string) Order {
	return Order{map[string]string{"confirmSlice": slice}}
}

// OrderEnd ends the peering at the provider.
func OrderEnd() Order { return Order{"end"} }

// OrderEndForGood ends the peering at the provider, and its nonce does not serve again.
func OrderEndForGood() Order { return Order{"endForGood"} }

// OrderDeleteOffloaded lets Liqo delete the namespaces that a peer has offloaded.
func OrderDeleteOffloaded() Order { return Order{"deleteOffloaded"} }

// OrderRequestSlice asks the provider for resources.
func OrderRequestSlice(options SliceOptions) Order {
	return Order{map[string]any{"requestSlice": options}}
}

// OrderDeleteSlice gives the resources of a slice back.
func OrderDeleteSlice(name string) Order {
	return Order{map[string]string{"deleteSlice": name}}
}

// OrderReleasePins forgets the provider's API server, CA and key.
func OrderReleasePins() Order { return Order{"releasePins"} }

// OrderUnauthenticate ends the peering at the consumer.
func OrderUnauthenticate() Order { return Order{"unauthenticate"} }
