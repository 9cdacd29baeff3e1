//! `legacy serve`: a foreign cluster's authentication service.

use liqo_auth::model::names;

use crate::{
    arguments::Serve,
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use},
    input,
    legacy::{
        foreign_side::{ForeignChoices, ForeignSide},
        server::{Log, Server, Service, Stop, allow_connections},
        tls_certificate::{TlsCertificate, url},
    },
};

pub(super) fn run(context: &Context, arguments: &Serve) -> Result<()> {
    let path = &*context.folder()?;
    let server = Server::bind(arguments.listen)?;
    let choices = ForeignChoices {
        name: arguments.name.clone(),
        allows_empty_token: arguments.allow_empty_token_from_anyone,
        accounts: arguments.service_accounts.clone(),
        token_lifetime: arguments.token_lifetime,
        is_single_use: arguments.single_use_token,
    };
    let mut home = Home::open_folder(path, Use::Write)?;
    let side = prepare(context, &mut home, choices)?;
    let (tls, is_own) = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => {
            let (chain, key) = (input::read(certificate)?, input::read(key)?);
            let given = TlsCertificate { chain, key };
            // What cannot be served is found before anything is written.
            given.server_config()?;
            (given, false)
        }
        _ => {
            let (names, clock) = (&arguments.tls_names, context.clock);
            let (tls, is_new) = TlsCertificate::of_home(&mut home, server.address(), names, clock)?;
            if is_new {
                let warning = "A new TLS certificate was made: home clusters have to trust it.";
                context.printer.warning(warning);
            }
            (tls, true)
        }
    };
    home.save()?;
    let shown = path.display();
    let mut text = format!(
        "Serving {} at {}\n  token        liqo-auth legacy get token --home {shown}\n",
        home.cluster_id(),
        url(server.address()),
    );
    if is_own {
        text.push_str(&format!(
            "  certificate  liqo-auth legacy get certificate --home {shown}\n"
        ));
    }
    // Other commands may use the home from here on.
    let home = home.rest()?;
    context.printer.result(&text)?;
    allow_connections(arguments.max_connections);
    let service = Service {
        side,
        home,
        tls: tls.server_config()?,
        most_connections: arguments.max_connections,
        log: Log::json(context.clock),
    };
    server.run(service, Stop::Signals)
}

/// Makes, in memory, the objects that a foreign cluster needs.
pub(super) fn prepare(
    context: &Context,
    home: &mut Home,
    choices: ForeignChoices,
) -> Result<ForeignSide> {
    let accounts = choices.accounts.as_ref();
    if accounts.is_some_and(|accounts| accounts.as_str() == names::LIQO_NAMESPACE) {
        return Err(Failure::usage(format!(
            "--service-accounts {}: this namespace contains the cluster's own Secrets, and a home cluster may read the Secret that its ID names; name a namespace with nothing else in it",
            names::LIQO_NAMESPACE
        )));
    }
    let side = ForeignSide::new(home, choices, &context.policy, context.clock)?;
    side.ensure_token(home)?;
    side.ensure_basic_role(home)?;
    side.ensure_account_namespace(home)?;
    side.collect_garbage(home)?;
    Ok(side)
}
