//! The command line of resource slices.

use clap::Args;
use liqo_auth::model::Quantity;

use super::{Format, Remote};

#[derive(Debug, Args)]
pub(crate) struct CreateResourceSlice {
    /// The slice's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) remote: Remote,
    /// The class of the slice: it selects the controller that decides on the slice
    #[arg(long, value_name = "CLASS", default_value = "default")]
    pub(crate) class: String,
    /// The amount of CPU requested
    #[arg(long, value_name = "QUANTITY")]
    pub(crate) cpu: Option<Quantity>,
    /// The amount of memory requested
    #[arg(long, value_name = "QUANTITY")]
    pub(crate) memory: Option<Quantity>,
    /// The number of pods requested
    #[arg(long, value_name = "QUANTITY")]
    pub(crate) pods: Option<Quantity>,
    /// Another resource requested; it may be repeated
    #[arg(long = "resource", value_name = "NAME=QUANTITY", value_parser = resource)]
    pub(crate) resources: Vec<(String, Quantity)>,
    /// Create no virtual node for the slice
    #[arg(long)]
    pub(crate) no_virtual_node: bool,
    /// Output the resulting ResourceSlice, instead of creating it
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteResourceSlice {
    /// The slice's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

fn resource(text: &str) -> Result<(String, Quantity), String> {
    match text.split_once('=') {
        Some((name, quantity)) if !name.is_empty() && !quantity.is_empty() => {
            Ok((name.to_owned(), Quantity::from(quantity)))
        }
        _ => Err("expected NAME=QUANTITY, such as nvidia.com/gpu=2".to_owned()),
    }
}
