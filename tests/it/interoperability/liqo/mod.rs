//! Published examples of Liqo, and the objects that it left on real clusters.

#[cfg(feature = "rsa")]
mod adopted_grants;
#[cfg(feature = "rsa")]
mod adoption;
#[cfg(feature = "rsa")]
mod differences;
mod documentation;
#[cfg(feature = "rsa")]
mod life;
#[cfg(feature = "rsa")]
mod objects;
#[cfg(feature = "rsa")]
mod renewal_and_end;
mod replication;
#[cfg(feature = "rsa")]
mod slices_at_provider;
#[cfg(feature = "rsa")]
mod test_cases;
