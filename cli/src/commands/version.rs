//! `version`: the version of this program, and the protocols that it speaks.

use serde_json::json;

use crate::{arguments::Version, context::Context, failure::Result};

pub(super) fn run(context: &Context, arguments: &Version) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    if let Some(output) = &arguments.output {
        let all = json!({
            "version": version,
            "liqo": LIQO,
            "legacy": LEGACY,
        });
        return context.document(&all, output);
    }
    context.printer.result(&format!(
        "Client version: {version}\nSpeaks with Liqo: {LIQO}; {LEGACY} by `legacy`\n"
    ))
}

const LIQO: &str = "1.0 to 1.2";
const LEGACY: &str = "0.2 to 0.10";
