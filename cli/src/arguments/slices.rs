//! The command line of resource slices.

use clap::Args;
use liqo_auth::model::Quantity;

use super::{Format, Remote, switches::truth};

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
    #[arg(long, value_name = "QUANTITY", value_parser = quantity)]
    pub(crate) cpu: Option<Quantity>,
    /// The amount of memory requested
    #[arg(long, value_name = "QUANTITY", value_parser = quantity)]
    pub(crate) memory: Option<Quantity>,
    /// The number of pods requested
    #[arg(long, value_name = "QUANTITY", value_parser = quantity)]
    pub(crate) pods: Option<Quantity>,
    /// Another resource requested; it may be repeated, also after a comma
    #[arg(
        long = "resource",
        value_name = "NAME=QUANTITY",
        value_parser = resource,
        value_delimiter = ','
    )]
    pub(crate) resources: Vec<(String, Quantity)>,
    /// Create no virtual node for the slice
    #[arg(long)]
    pub(crate) no_virtual_node: bool,
    /// Wait for the provider's decision, for --timeout at most; on a cluster by default, unless
    /// this is false
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = truth
    )]
    pub(crate) wait: Option<bool>,
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

fn quantity(text: &str) -> Result<Quantity, String> {
    let quantity = text.parse();
    quantity.map_err(|error| format!("{error}; expected a quantity such as 2, 500m or 4Gi"))
}

fn resource(text: &str) -> Result<(String, Quantity), String> {
    let form = || "expected NAME=QUANTITY, such as nvidia.com/gpu=2".to_owned();
    let (name, amount) = text.split_once('=').ok_or_else(form)?;
    if !is_qualified_name(name) {
        return Err(format!(
            "{name:?} is not the name of a resource, such as nvidia.com/gpu or ephemeral-storage"
        ));
    }
    Ok((name.to_owned(), quantity(amount)?))
}

/// A name of at most 63 characters, perhaps after a DNS subdomain and a slash.
/// Source: Kubernetes `validation.IsQualifiedName`.
fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = |text: &str, of: fn(&u8) -> bool| {
        let bytes = text.as_bytes();
        bytes.first().is_some_and(of) && bytes.last().is_some_and(of)
    };
    let is_label = |label: &str| {
        let lower = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        ends(label, lower) && label.bytes().all(|byte| lower(&byte) || byte == b'-')
    };
    name.len() <= 63
        && name.bytes().all(inner)
        && ends(name, u8::is_ascii_alphanumeric)
        && prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_have_qualified_names() {
        for good in ["cpu", "nvidia.com/gpu", "hugepages-2Mi", "a.b/c_d"] {
            assert!(is_qualified_name(good), "{good}");
        }
        for bad in [
            "",
            "/gpu",
            "nvidia.com/",
            "Nvidia.com/gpu",
            "a/b/c",
            "-a",
            "a b",
            "ä",
        ] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
        assert!(resource("nvidia.com/gpu=two").is_err());
        assert!(resource("gpu").is_err());
    }
}
