//! `legacy get`: prints what a foreign cluster's administrator sends to a home
//! cluster.

use liqo_auth::machine::Interest;
use liqo_auth::model::{Kind, ObjectRef, names};

use crate::{
    context::Context,
    failure::{Failure, Result},
    home::{AUTHORITY_SECRET, Home, LEGACY_TLS_SECRET, RECORD_KEY_SECRET},
    legacy::{
        foreign_side::{ForeignChoices, ForeignSide},
        tls_certificate::TlsCertificate,
    },
    output::program,
};

/// Prints the token. No other command prints a token.
pub(super) fn token(context: &Context) -> Result<()> {
    let secret = own_secret(names::AUTH_TOKEN_SECRET);
    let home = Home::open_only(
        &context.folder()?,
        &[
            secret.clone(),
            own_secret(AUTHORITY_SECRET),
            own_secret(RECORD_KEY_SECRET),
        ],
    )?;
    let side = ForeignSide::new(
        &home,
        ForeignChoices::default(),
        &context.policy,
        context.clock,
    )?;
    let objects = home.interesting(&[Interest::Object(secret)]);
    let token = side.foreign().token(objects, context.clock.now()?);
    let token = token.map_err(|error| Failure::of(&home.site().to_string(), &error))?;
    let token = token.ok_or_else(|| missing(&home, "token"))?;
    // Like `get nonce`, print no line feed after the token.
    context.printer.result(token.expose())
}

pub(super) fn certificate(context: &Context) -> Result<()> {
    let home = Home::open_only(&context.folder()?, &[own_secret(LEGACY_TLS_SECRET)])?;
    let certificate = TlsCertificate::shown(&home).ok_or_else(|| missing(&home, "certificate"))?;
    context
        .printer
        .result(&String::from_utf8_lossy(certificate))
}

fn own_secret(name: &str) -> ObjectRef {
    ObjectRef::new(Kind::Secret, names::LIQO_NAMESPACE, name)
}

fn missing(home: &Home, what: &str) -> Failure {
    let path = home.site();
    Failure::waiting(format!(
        "there is no valid {what} in {path}. Make one with: {} legacy serve --home {path} --trust-whoever-holds-the-token",
        program()
    ))
}
