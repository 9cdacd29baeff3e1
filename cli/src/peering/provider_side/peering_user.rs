//! The peering user of a peer: its request, its certificate and its rights.
//!
//! ```text
//!   home      sign ─▶ check ─▶ save the request and the rights together
//!   cluster   create the request ─▶ approve it ─▶ await the signer ─▶ check ─▶ grant the rights
//!                                       │                │              │             │
//!                                       └───── fails ────┴──────────────┴─────────────┴─▶ delete
//!                                                                                what was made
//! ```

use std::{cell::Cell, sync::Arc};

use liqo_auth::{
    crypto::{CertificateChain, KeyPair},
    machine::{Effect, Follower, Requirement, Step, Watch},
    model::{CertificateSigningRequest, Kind, ObjectRef, Resource, SecretBytes, names},
    policy::Policy,
    provider::NewPeeringUser,
};

use super::{ProviderSide, principals};
use crate::{
    failure::{Code, Failure, Result},
    home::{Home, Signer},
    output::escaped,
    peering::signer::{approval, issued, sign, version_of},
};

impl ProviderSide<'_> {
    /// Creates a peering user with this key. Returns its kubeconfig, which is not
    /// stored. `None` if a trial ends before, since a cluster's signer sees nothing of it.
    pub(crate) fn make_peering_user(&mut self, key: KeyPair) -> Result<Option<SecretBytes>> {
        let key = Arc::new(key);
        if self.home.is_live() {
            self.make_on_cluster(&key)
        } else {
            self.make_in_home(key).map(Some)
        }
    }

    fn make_in_home(&mut self, key: Arc<KeyPair>) -> Result<SecretBytes> {
        let env = self.clock.env()?;
        let now = env.now;
        let new = self
            .machine
            .peering_user(&self.view(), key, env)
            .map_err(|error| self.failure(&error))?;
        let chain = sign(&self.home.authority()?, new.request())?;
        let user = new
            .continue_with(&chain)
            .map_err(|error| self.failure(&error))?;
        let mut signed = new.certificate_signing_request();
        signed.status = issued(&chain, WHY);
        self.home.apply(&Effect::Create(signed.into()), now)?;
        self.home.carry_out(&user.step, now)?;
        self.home.save()?;
        Ok(user.kubeconfig.to_yaml())
    }

    fn make_on_cluster(&mut self, key: &Arc<KeyPair>) -> Result<Option<SecretBytes>> {
        if self.home.settings.signer == Signer::Aws {
            return Err(Failure::usage(format!(
                "{}: this cluster gives AWS users to its peers (`signer: aws`), and EKS does not sign certificates for peering users",
                self.home.site()
            )));
        }
        let new = self.create_request(key)?;
        let request = new.certificate_signing_request().id();
        let mut made = vec![self.deletion_of(&request)];
        let kubeconfig = self.finish(&new, &request, &mut made);
        let kubeconfig = kubeconfig.map_err(|failure| self.take_back(&made, failure))?;
        self.home.save()?;
        Ok(kubeconfig)
    }

    /// Creates the request of a new user on the cluster. Its name is that of the peer's
    /// user, so that of two commands at the same time only one goes on.
    fn create_request(&mut self, key: &Arc<KeyPair>) -> Result<NewPeeringUser> {
        let subject = self.home.site().to_string();
        let new = Cell::new(None);
        self.administer(&subject, |provider, view, env| {
            let user = provider.peering_user(view, key.clone(), env)?;
            let mut step = Step::default();
            let request = user.certificate_signing_request();
            step.effects.push(Effect::Create(request.into()));
            new.set(Some(user));
            Ok(step)
        })?;
        new.into_inner().ok_or_else(|| {
            Failure::at_odds("the request of the peering user was made, but it is missing")
        })
    }

    /// Approves the request, waits for its certificate, and grants the rights. `made` gets
    /// the deletion of each object that is created.
    fn finish(
        &mut self,
        new: &NewPeeringUser,
        request: &ObjectRef,
        made: &mut Vec<Effect>,
    ) -> Result<Option<SecretBytes>> {
        let now = self.clock.now()?;
        self.approve(request)?;
        if self.home.is_trial() {
            return Ok(None);
        }
        let open = self.stored(request)?;
        let answered = self.home.await_certificate(open)?;
        let user = new
            .continue_with(&certificate(&answered)?)
            .map_err(|error| self.failure(&error))?;
        for effect in &user.step.effects {
            self.home.apply(effect, now)?;
            made.push(self.deletion_of(&effect.id()));
        }
        Ok(Some(user.kubeconfig.to_yaml()))
    }

    /// Approves the request, if it has no answer yet.
    fn approve(&mut self, request: &ObjectRef) -> Result<()> {
        let subject = self.home.site().to_string();
        self.administer(&subject, |_, view, _| {
            let objects = view.objects();
            let mut requests = objects.filter_map(CertificateSigningRequest::from_object);
            let open = requests.find(|it| it.id() == *request && it.status.conditions.is_empty());
            let mut step = Step::default();
            step.effects.extend(open.map(|open| approval(open, WHY)));
            Ok(step)
        })?;
        Ok(())
    }

    fn stored(&self, request: &ObjectRef) -> Result<&CertificateSigningRequest> {
        self.home.get("", &request.name).ok_or_else(|| {
            Failure::waiting(format!("somebody deleted {request}: run the command again"))
        })
    }

    /// Deletes this object, not another one that may get its name. The namespace is
    /// deleted only as it was made.
    fn deletion_of(&self, id: &ObjectRef) -> Effect {
        let mut objects = self.home.objects();
        let object = objects.find(|object| object.id() == *id);
        let mut version = object
            .map(|object| version_of(object.metadata()))
            .unwrap_or_default();
        if id.kind != Kind::Namespace {
            // The signer may answer meanwhile.
            version.resource_version.clear();
        }
        Effect::Delete {
            id: id.clone(),
            version,
        }
    }

    /// Deletes what was made for a user that is not finished, the last object first.
    /// Returns the failure, with the objects that could not be deleted.
    fn take_back(&mut self, made: &[Effect], failure: Failure) -> Failure {
        let mut left = Vec::new();
        for deletion in made.iter().rev() {
            let now = self.clock.now();
            if let Err(error) = now.and_then(|now| self.home.apply(deletion, now)) {
                left.push(format!("{} ({error})", deletion.id()));
            }
        }
        if left.is_empty() {
            return failure;
        }
        Failure::new(
            failure.code,
            format!(
                "{failure}. These objects are left and have to be deleted: {}",
                left.join(", ")
            ),
        )
    }

    /// Deletes the peering user for the peer, if there is one.
    pub(crate) fn delete_peering_user(&mut self) -> Result<()> {
        let subject = self.home.site().to_string();
        self.administer(&subject, |provider, view, _| {
            provider.delete_peering_user(view)
        })?;
        self.home.save()
    }
}

/// What the commands for peering users read on a cluster: the names in use, the roles for
/// peering users, and the requests of such users. Namespaces are read without labels, too:
/// one of them may have the name of the tenant namespace.
pub(crate) fn watches_for_peering_users(home: &Home) -> Result<Vec<Watch>> {
    let component = || {
        let (label, value) = (names::APP_COMPONENT_LABEL, names::PEERING_USER_COMPONENT);
        Requirement::Equals(label, value)
    };
    let of_users = Requirement::Exists(names::PEERING_USER_LABEL);
    let mut watches = principals(home)?.watches();
    watches.extend([
        Watch::all(Kind::Namespace),
        Watch::all(Kind::Role).with(component()),
        Watch::all(Kind::ClusterRole).with(component()),
        Watch::all(Kind::CertificateSigningRequest).with(of_users),
    ]);
    Ok(watches)
}

/// The certificate in an answered request.
fn certificate(answered: &CertificateSigningRequest) -> Result<CertificateChain> {
    let id = answered.id();
    let mut conditions = answered.status.conditions.iter();
    let refusal = conditions.find(|it| ["Denied", "Failed"].contains(&it.condition_type.as_str()));
    if let Some(refusal) = refusal {
        let said = [refusal.message.as_str(), refusal.reason.as_str()];
        let said = said.into_iter().find(|said| !said.is_empty());
        let message = format!(
            "{id} has the condition {}, so that no peering user is made: {}",
            refusal.condition_type,
            escaped(said.unwrap_or("without a reason"))
        );
        return Err(Failure::new(Code::Refused, message));
    }
    let pem = answered.status.certificate.as_slice();
    CertificateChain::from_pem(pem, &Policy::compatible())
        .map_err(|error| Failure::at_odds(format!("{id}, status.certificate: {error}")))
}

/// The reason of the approval, for whoever looks at the request.
const WHY: &str = "generate peering-user";
