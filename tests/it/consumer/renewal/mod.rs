//! Renewal, in virtual time.

mod interruptions;
mod schemes;
mod taking;

use core::time::Duration;

use liqo_auth::consumer::{PeerSettings, RenewalScheme};

use crate::consumer::home::Home;

fn by(scheme: RenewalScheme, lifetime: Duration) -> Home {
    let settings = PeerSettings {
        renewal: scheme,
        ..PeerSettings::default()
    };
    Home::with(settings).authenticate(lifetime)
}
