//! `legacy peer`: a home cluster asks a foreign cluster for an identity.

use std::{
    thread,
    time::{Duration, Instant},
};

use liqo_auth::{error::Disposition, legacy::Asks, legacy::HttpResponse, legacy::Request};

use crate::{
    arguments::Peer,
    context::Context,
    failure::{Code, Failure, Result},
    home::{Home, Use},
    input,
    legacy::{
        home_side::{HomeChoices, HomeSide, HomeStand, Received, Turn},
        https_client::HttpsClient,
    },
    output::{Side, program},
};

pub(super) fn run(context: &Context, arguments: &Peer) -> Result<()> {
    let path = &*context.folder()?;
    let choices = HomeChoices {
        name: arguments.name.clone(),
        version: arguments.protocol_version,
        is_publicly_trusted: arguments.publicly_trusted,
        skips_tls_verification: arguments.skip_tls_verification_where_the_foreign_cluster_says_so,
    };
    let foreign = arguments.foreign_cluster.as_str();
    let side = HomeSide::new(path, foreign, choices, &context.policy, context.clock);
    let client = match &arguments.ca {
        Some(file) => HttpsClient::trusting(&input::read(file)?)?,
        None => HttpsClient::trusting_the_system()?,
    };
    let url = arguments.auth_url.as_ref().map(|url| url.as_str());
    side.ensure_foreign_cluster(url)?;
    context
        .printer
        .info(Side::Only, "ForeignCluster correctly ensured")?;
    match ask(context, &side, &client, Side::Only, arguments.wait)? {
        HomeStand::Accepted(secret) => {
            let home = Home::open_folder(path, Use::Read)?;
            context.printer.lines(&format!(
                "The kubeconfig is in {secret}: {}\n",
                home.site_of(&secret)
            ))
        }
        HomeStand::AwaitsToken => {
            let home = Home::open_folder(path, Use::Read)?;
            let peer = side.peer(&home)?.map(|peer| peer.to_string());
            Err(Failure::waiting(format!(
                "{foreign} requires its token. Ask its administrator for the token, and set it with: {} legacy set remote-token --home {} --remote-cluster-id {}",
                program(),
                path.display(),
                peer.as_deref().unwrap_or("ID")
            )))
        }
        HomeStand::Refused => Err(Failure::new(
            Code::Refused,
            format!(
                "{foreign} refused the token, or has already given this cluster an identity. Set the right token with `liqo-auth legacy set remote-token`, or ask its administrator to release this cluster; then try again."
            ),
        )),
    }
}

/// Sends requests until none is left.
pub(super) fn ask(
    context: &Context,
    side: &HomeSide,
    client: &HttpsClient,
    scope: Side,
    wait: Duration,
) -> Result<HomeStand> {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    // Twice the number of requests in an exchange.
    for _ in 0..MOST_TURNS {
        let request = match side.turn()? {
            Turn::Send(request) => request,
            Turn::Rest(stand) => return Ok(stand),
        };
        let step = loop {
            match once(side, client, &request)? {
                Ok(step) => break step,
                Err(failure) if began.elapsed() + pause > wait => return Err(failure),
                Err(failure) => context
                    .printer
                    .warning(&format!("{failure} Trying again in {pause:?}.")),
            }
            thread::sleep(pause);
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        };
        say(context, scope, &request, &step.response)?;
        for sentence in step.sentences {
            context.printer.warning(&sentence);
        }
    }
    Err(Failure::at_odds(
        "the exchange with the foreign cluster does not end",
    ))
}

/// An answer that was accepted.
struct Taken {
    response: HttpResponse,
    sentences: Vec<String>,
}

/// Sends a request once. After an inner error, the request can be sent again.
fn once(
    side: &HomeSide,
    client: &HttpsClient,
    request: &Request,
) -> Result<Result<Taken, Failure>> {
    let response = match client.send(request) {
        Ok(response) => response,
        Err(error) if error.is_not_trusted => {
            return Err(Failure::new(
                Code::Refused,
                format!(
                    "{}: {error}. Nothing was sent. Ask its administrator for the certificate, and pass it with --ca.",
                    request.url
                ),
            ));
        }
        Err(error) => {
            let failure = Failure::waiting(format!("{}: {error}.", request.url));
            return Ok(Err(failure));
        }
    };
    match side.receive(request, &response)? {
        Received::Taken(step) => Ok(Ok(Taken {
            response,
            sentences: Received::sentences(&step),
        })),
        Received::Refused(error) => {
            let failure = Failure::of(&format!("the answer of {}", request.url), &error);
            match error.disposition() {
                Disposition::Retry => Ok(Err(failure)),
                _ => Err(failure),
            }
        }
    }
}

fn say(context: &Context, scope: Side, request: &Request, response: &HttpResponse) -> Result<()> {
    let text = match (request.asks, response.status) {
        (Asks::Ids, _) => "Cluster ID of the foreign cluster received",
        (Asks::Identity { .. }, 200..=299) => "Identity correctly received and stored",
        (
            Asks::Identity {
                with_token: false, ..
            },
            401 | 403,
        ) => "The foreign cluster requires its token",
        (Asks::Identity { .. }, 401 | 403) => "The foreign cluster refused the token",
        _ => "The foreign cluster speaks an older version of the protocol",
    };
    context.printer.info(scope, text)
}

const MOST_TURNS: usize = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
