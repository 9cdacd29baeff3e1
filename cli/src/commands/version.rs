//! `version`: the version of this program, and the protocols that it speaks.

use serde_json::json;

use crate::{
    arguments::{Version, VersionFormat},
    context::Context,
    failure::Result,
};

pub(super) fn run(context: &Context, arguments: &Version) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    if let Some(VersionFormat::Json) = arguments.output {
        let all = json!({
            "version": version,
            "liqo": LIQO,
            "legacy": LEGACY,
        });
        return context.printer.result(&format!("{all:#}\n"));
    }
    context.printer.result(&format!(
        "Client version: {version}\nSpeaks with Liqo: {LIQO}; {LEGACY} by `legacy`\n"
    ))
}

const LIQO: &str = "1.0 to 1.2";
const LEGACY: &str = "0.2 to 0.10";
