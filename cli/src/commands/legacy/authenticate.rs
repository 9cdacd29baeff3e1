//! `legacy authenticate`: the whole exchange, with access to both homes, over
//! a real server on this machine.

use std::{net::Ipv4Addr, path::Path, thread, time::Duration};

use liqo_auth::{
    legacy::Outcome,
    machine::Interest,
    model::{Kind, ObjectRef, names},
};
use tokio::sync::oneshot;

use super::{peer, serve};
use crate::{
    arguments::LegacyAuthenticate,
    commands::init,
    context::Context,
    failure::{Code, Failure, Result},
    home::{Home, Site, Use, create},
    legacy::{
        foreign_side::{ForeignChoices, ForeignSide},
        home_side::{self, HomeChoices, HomeSide, HomeStand},
        https_client::HttpsClient,
        server::{Entry, Log, Server, Service, Stop},
        tls_certificate::{TlsCertificate, url},
    },
    output::{Side, program},
};

pub(super) fn run(context: &Context, arguments: &LegacyAuthenticate) -> Result<()> {
    let (path, remote_path) = (&*context.folder()?, arguments.remote_home.as_path());
    if arguments.init {
        let making = &arguments.making;
        for path in [path, remote_path] {
            let blueprint = init::blueprint(context, path, None, making, &making.api_server)?;
            create(path, &blueprint)?;
        }
    }
    let site = |path: &Path| Site::Folder(path.to_owned());
    let (local, mut remote) = Home::open_both(&site(path), &site(remote_path), Use::Write)?;
    let (home_id, foreign_id) = (local.cluster_id().clone(), remote.cluster_id().clone());
    // The exchange locks each home itself.
    drop(local);
    let printer = context.printer;
    let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let side = serve::prepare(context, &mut remote, ForeignChoices::default())?;
    let (tls, _) = TlsCertificate::of_home(&mut remote, server.address(), &[], context.clock)?;
    remote.save()?;
    printer.info(Side::Remote, "Token ensured")?;
    let token = own_token(context, &remote, &side)?;
    let remote = remote.rest()?;

    let client = HttpsClient::trusting(&tls.chain)?;
    let auth_url = url(server.address());
    let (stop, stopped) = oneshot::channel();
    let service = Service {
        side,
        home: remote,
        tls: tls.server_config()?,
        most_connections: MOST_CONNECTIONS,
        log: Log::to(move |entry| {
            if let Some(text) = sentence(entry) {
                // A failed write to standard output does not stop the server.
                let _ = printer.info(Side::Remote, &text);
            }
        }),
    };
    printer.info(Side::Remote, &format!("Serving at {auth_url}"))?;
    let choices = HomeChoices::default();
    let (policy, clock) = (&context.policy, context.clock);
    let asking = HomeSide::new(path, foreign_id.as_str(), choices, policy, clock);
    let asked = thread::scope(|scope| {
        let serving = scope.spawn(|| server.run(service, Stop::Told(stopped)));
        let asked = (|| {
            asking.ensure_foreign_cluster(Some(&auth_url))?;
            printer.info(Side::Local, "ForeignCluster correctly ensured")?;
            let stand = peer::ask(context, &asking, &client, Side::Local, WAIT)?;
            if !matches!(stand, HomeStand::AwaitsToken | HomeStand::Refused) {
                return Ok(stand);
            }
            let mut local = Home::open_folder(path, Use::Write)?;
            home_side::set_remote_token(&mut local, &foreign_id, &token, policy, clock)?;
            drop(local);
            printer.info(Side::Local, "Token of the foreign cluster set")?;
            peer::ask(context, &asking, &client, Side::Local, WAIT)
        })();
        let _ = stop.send(());
        let served = serving
            .join()
            .unwrap_or_else(|_| Err(Failure::at_odds("the server failed")));
        asked.and_then(|stand| served.map(|()| stand))
    });
    match asked? {
        HomeStand::Accepted(secret) => {
            let local = Home::open_folder(path, Use::Read)?;
            printer.lines(&format!(
                "The kubeconfig is in {secret}: {}\n",
                local.site_of(&secret)
            ))
        }
        HomeStand::AwaitsToken | HomeStand::Refused => Err(Failure::new(
            Code::Refused,
            format!(
                "{foreign_id} has already given an identity to {home_id}. Take it back with: {} legacy release --home {} --remote-cluster-id {home_id}",
                program(),
                remote_path.display()
            ),
        )),
    }
}

fn own_token(
    context: &Context,
    remote: &Home,
    side: &ForeignSide,
) -> Result<zeroize::Zeroizing<Vec<u8>>> {
    let id = ObjectRef::new(
        Kind::Secret,
        names::LIQO_NAMESPACE,
        names::AUTH_TOKEN_SECRET,
    );
    let objects = remote.interesting(&[Interest::Object(id)]);
    let token = side.foreign().token(objects, context.clock.now()?);
    let token = token.map_err(|error| Failure::of(&remote.site().to_string(), &error))?;
    let token = token.ok_or_else(|| Failure::at_odds("the token was made, but it is missing"))?;
    Ok(zeroize::Zeroizing::new(token.expose().as_bytes().to_vec()))
}

fn sentence(entry: &Entry<'_>) -> Option<String> {
    match entry {
        Entry::Answered {
            outcome: Some(Outcome::WrongToken { is_empty: true, .. }),
            ..
        } => Some("The empty token is refused".to_owned()),
        Entry::Answered {
            outcome: Some(outcome),
            ..
        } => Some(outcome.to_string()),
        Entry::Failed { failure, .. } => Some(format!("Failed: {failure}")),
        Entry::Stopped => Some("Stopped serving".to_owned()),
        _ => None,
    }
}

const MOST_CONNECTIONS: usize = 16;
const WAIT: Duration = Duration::from_secs(30);
