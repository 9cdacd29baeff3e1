//! How a command reaches a provider: as its administrator, or as a peering user.
//!
//! A peering user may not read the keys and the records of the provider, so the command
//! cannot do the provider's part. The provider's own controllers do, and the command carries
//! the messages, as liqoctl does.

use std::{
    thread,
    time::{Duration, Instant},
};

use kube::Client;
use liqo_auth::{
    crypto::Nonce,
    error::Error,
    machine::Message,
    model::{ClusterId, Identity, Tenant},
};
use liqo_auth_kube::RemoteCluster;
use tokio::runtime::Runtime;

use super::{ApiServer, Live};
use crate::{
    failure::{Code, Failure, Result},
    home::{Connection, Ground, Home, Site, Use, site::check_distinct, store::Store},
    output::{escaped, program},
};

/// How a command reaches a provider.
pub(crate) enum ProviderAccess {
    /// The command reads and writes the whole cluster, or its home.
    Administrator(Box<Home>),
    /// The command writes what a peering user may write.
    PeeringUser(Box<PeeringUser>),
}

impl ProviderAccess {
    /// Whether the provider is a cluster, not a folder.
    pub(crate) fn is_live(&self) -> bool {
        match self {
            Self::Administrator(home) => home.is_live(),
            Self::PeeringUser(_) => true,
        }
    }
}

/// A provider, as one of its peering users reaches it.
pub(crate) struct PeeringUser {
    site: Site,
    /// The consumer of the peering user.
    consumer: ClusterId,
    provider: RemoteCluster,
    pub(super) client: Client,
    /// Liqo's namespace at the provider.
    pub(super) liqo_namespace: String,
    runtime: Runtime,
}

impl Home {
    /// Opens this cluster and its provider's. If the provider's API server forbids this user
    /// to open the cluster, the user is taken for a peering user.
    pub(crate) fn open_with_provider(
        local: &Site,
        remote: &Site,
        purpose: Use,
    ) -> Result<(Self, ProviderAccess)> {
        let Site::Cluster(connection) = remote else {
            let (local, remote) = Self::open_both(local, remote, purpose)?;
            return Ok((local, ProviderAccess::Administrator(Box::new(remote))));
        };
        let local = Self::open(local, purpose)?;
        let provider = reach(remote, connection, local.cluster_id(), purpose);
        let provider = provider.map_err(|failure| failure.about(&remote.to_string()))?;
        let (id, provider_id) = (local.cluster_id(), provider.cluster_id());
        check_distinct((local.site(), id), (remote, provider_id))?;
        Ok((local, provider))
    }
}

fn reach(
    site: &Site,
    connection: &Connection,
    consumer: &ClusterId,
    purpose: Use,
) -> Result<ProviderAccess> {
    let (server, opened) = ApiServer::open(connection, purpose)?;
    match opened {
        Ok(opened) => {
            let (live, settings) = Live::of(connection, server, opened)?;
            let ground = Ground::Cluster(Box::new(live));
            let home = Home::new(site.clone(), ground, settings, Store::empty()?);
            Ok(ProviderAccess::Administrator(Box::new(home)))
        }
        Err(error) if error.is_forbidden() => {
            let ApiServer {
                runtime, client, ..
            } = server;
            let namespace = connection.liqo_namespace();
            let found = RemoteCluster::find(client.clone(), namespace, consumer.clone());
            let provider = runtime.block_on(found).map_err(failure)?;
            Ok(ProviderAccess::PeeringUser(Box::new(PeeringUser {
                site: site.clone(),
                consumer: consumer.clone(),
                provider,
                client,
                liqo_namespace: namespace.to_owned(),
                runtime,
            })))
        }
        Err(error) => Err(super::failure(error)),
    }
}

impl ProviderAccess {
    pub(crate) fn cluster_id(&self) -> &ClusterId {
        match self {
            Self::Administrator(home) => home.cluster_id(),
            Self::PeeringUser(user) => user.cluster_id(),
        }
    }

    /// The whole cluster, for a command that needs it.
    pub(crate) fn administered(self) -> Result<Home> {
        match self {
            Self::Administrator(home) => Ok(*home),
            Self::PeeringUser(user) => Err(Failure::usage(format!(
                "{}: this user may not read Liqo's Secrets, and this command needs an administrator of {}. A peering user may only authenticate and unauthenticate {}",
                user.site,
                user.cluster_id(),
                user.consumer,
            ))),
        }
    }
}

impl PeeringUser {
    pub(crate) fn cluster_id(&self) -> &ClusterId {
        self.provider.peer()
    }

    /// Asks the provider's controllers for a nonce, unless there is one.
    pub(crate) fn ask_for_nonce(&self) -> Result<()> {
        self.run(self.provider.ask_for_nonce())
    }

    /// The provider's nonce, if there is one. Nothing is written.
    pub(crate) fn nonce(&self) -> Result<Option<Nonce>> {
        self.run(self.provider.nonce())
    }

    /// Waits for a nonce of the provider's controllers that `judge` accepts. After the end of
    /// a peering, they first delete the nonce that was used.
    pub(crate) fn await_nonce(
        &self,
        within: Duration,
        judge: impl Fn(&Nonce) -> Result<Result<(), Error>>,
    ) -> Result<Nonce> {
        let nonce = await_accepted(within, || self.nonce(), judge)?;
        nonce.map_err(|refusal| match refusal {
            Some(error) => {
                let subject = format!("the nonce of {} is not signed", self.cluster_id());
                Failure::of(&subject, &error)
            }
            None => self.unanswered(&format!(
                "has made no nonce for {} within {} seconds. Its controllers have to run ({CONTROLLERS}). After the end of a peering, its administrator first invites {}: {} create nonce --remote-cluster-id {}",
                self.consumer,
                within.as_secs(),
                self.consumer,
                program(),
                self.consumer,
            )),
        })
    }

    /// Writes the consumer's Tenant.
    pub(crate) fn send_tenant(&self, tenant: &Tenant) -> Result<()> {
        let message = Message::new(&self.consumer, self.cluster_id(), tenant.clone());
        self.run(self.provider.send(&message))
    }

    /// The Identity by the provider's answer to a Tenant of this consumer, if it has given
    /// one. The Tenant may be an earlier one.
    pub(crate) fn identity(&self) -> Result<Option<Identity>> {
        self.run(self.provider.identity())
    }

    /// Waits for an answer that `judge` accepts. An answer to an earlier Tenant may be there
    /// before.
    pub(crate) fn await_identity(
        &self,
        within: Duration,
        judge: impl Fn(&Identity) -> Result<Result<(), Error>>,
    ) -> Result<Identity> {
        let identity = await_accepted(within, || self.identity(), judge)?;
        identity.map_err(|refusal| match refusal {
            Some(error) => Failure::of("the consumer refuses the Identity", &error),
            None => self.unanswered(&format!(
                "has not answered the Tenant of {} within {} seconds. Its controllers have to run ({CONTROLLERS}). If it approves requests by hand, its administrator first approves this one: {} approve tenant {}",
                self.consumer,
                within.as_secs(),
                program(),
                self.consumer,
            )),
        })
    }

    /// Whether the provider has a Tenant of the consumer, also one that is being deleted.
    pub(crate) fn has_tenant(&self) -> Result<bool> {
        self.run(self.provider.has_tenant())
    }

    /// Deletes the consumer's Tenant. Returns whether there was one. The provider's
    /// controllers take the rights back.
    pub(crate) fn end(&self) -> Result<bool> {
        self.run(self.provider.end())
    }

    pub(super) fn run<T>(
        &self,
        request: impl Future<Output = Result<T, liqo_auth_kube::Error>>,
    ) -> Result<T> {
        let done = self.runtime.block_on(request);
        done.map_err(|error| failure(error).about(&self.site.to_string()))
    }

    /// The failure of a wait. `lacks` says what is missing, and what to do.
    fn unanswered(&self, lacks: &str) -> Failure {
        Failure::waiting(format!("{} {lacks}", self.cluster_id()))
    }
}

/// Looks again and again, until there is something that `judge` accepts, or the time is over.
/// The inner error is the last refusal, if something is there.
fn await_accepted<T>(
    within: Duration,
    look: impl Fn() -> Result<Option<T>>,
    judge: impl Fn(&T) -> Result<Result<(), Error>>,
) -> Result<Result<T, Option<Error>>> {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let mut refusal = None;
        if let Some(found) = look()? {
            match judge(&found)? {
                Ok(()) => return Ok(Ok(found)),
                Err(error) => refusal = Some(error),
            }
        }
        let left = within.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(Err(refusal));
        }
        thread::sleep(pause.min(left));
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// A failure at the provider. Its words come from another administrator's cluster.
fn failure(error: liqo_auth_kube::Error) -> Failure {
    let liqo_auth_kube::Error::Request { request, source } = &error else {
        return match error {
            liqo_auth_kube::Error::Conflict(_) => Failure::waiting(error.to_string()),
            error => super::failure(error),
        };
    };
    let kube::Error::Api(status) = &**source else {
        return super::failure(error);
    };
    match status.message.split_once(DENIED) {
        Some((_, words)) => Failure::new(
            Code::Refused,
            format!(
                "the admission refuses to {request}, and says: {}",
                escaped(words.trim_start_matches([':', ' ']))
            ),
        ),
        None => Failure::new(
            Code::Internal,
            format!(
                "the API server refuses to {request} ({}), and says: {}",
                status.code,
                escaped(&status.message)
            ),
        ),
    }
}

/// What an API server says of a request that an admission webhook has denied.
const DENIED: &str = " denied the request";
/// The programs that answer a peering user.
const CONTROLLERS: &str = "Liqo's, or `liqo-auth run --provider`";
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
