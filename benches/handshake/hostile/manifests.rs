//! Manifests in JSON and YAML that take long to read.

use std::hint::black_box;

use liqo_auth::{
    model::{Object, manifest},
    policy::Limits,
};

use super::super::clock::Stage;

pub(super) fn stages() -> Vec<Stage> {
    #[allow(unused_mut, reason = "features add stages")]
    let mut stages = vec![
        object("object, 256 KiB of fields in JSON", json_fields()),
        object("object, 256 KiB of depth in JSON", json_depth()),
        object("object, 256 KiB of text in JSON", json_text()),
        object("object, as many fields as it may have in JSON", json_full()),
        object("object, 256 KiB of labels in JSON", json_labels()),
        object(
            "object, as many repeated keys as it may have",
            json_repeated(),
        ),
        stream("stream, 16 MiB of {}", "{}".repeat(8 << 20)),
        stream("stream, 16 MiB of --- and {}", "---\n{}\n".repeat(2 << 20)),
        stream("stream, 16 MiB of ---", "---\n".repeat(4 << 20)),
    ];
    #[cfg(feature = "yaml")]
    stages.extend(in_yaml());
    stages
}

fn object(name: &'static str, text: String) -> Stage {
    Stage::new(name, move || {
        let objects: Vec<Object> = manifest::read(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(black_box(objects).len(), 1);
    })
}

/// Measures a text of about the largest size that is allowed.
fn stream(name: &'static str, text: String) -> Stage {
    Stage::new(name, move || {
        let read = manifest::read(text.as_bytes(), &Limits::default());
        assert!(black_box(read).map_or(0, |objects| objects.len()) <= manifest::MOST_OBJECTS);
    })
}

fn json_fields() -> String {
    let fields: Vec<String> = (0..24_000).map(|n| format!("\"{n:05}\":1")).collect();
    format!("{TENANT}{}}}}}", fields.join(","))
}

fn json_depth() -> String {
    let deep = |n: usize| format!("\"{n}\":{}{}", "[".repeat(28), "]".repeat(28));
    let fields: Vec<String> = (0..3_800).map(deep).collect();
    format!("{TENANT}{}}}}}", fields.join(","))
}

fn json_text() -> String {
    format!("{TENANT}\"csr\":\"{}\"}}}}", "QUFB".repeat(63 * 1024))
}

/// The largest number of fields within the limit, with long names and escaped values.
fn json_full() -> String {
    let field = |n: usize| format!("\"{n:020}\":\"{}\"", "\\u00e9".repeat(5));
    let fields: Vec<String> = (0..most_fields()).map(field).collect();
    format!("{TENANT}{}}}}}", fields.join(","))
}

fn json_labels() -> String {
    let fields: Vec<String> = (0..24_000).map(|n| format!("\"{n:05}\":\"\"")).collect();
    let kind = TENANT.trim_end_matches("\"spec\":{");
    format!(
        "{kind}\"metadata\":{{\"labels\":{{{}}},\"name\":\"x\"}}}}",
        fields.join(",")
    )
}

fn json_repeated() -> String {
    let repeated: Vec<&str> = vec!["{\"a\":1,\"a\":1}"; 60];
    format!("{TENANT}\"x\":[{}]}}}}", repeated.join(","))
}

fn most_fields() -> usize {
    Limits::default().object_values - 8
}

#[cfg(feature = "yaml")]
fn in_yaml() -> Vec<Stage> {
    let spec = "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nspec:\n";
    let lines = |number: usize, line: &dyn Fn(usize) -> String| {
        let lines: Vec<String> = (0..number).map(line).collect();
        format!("{spec}{}", lines.concat())
    };
    let size = 255 * 1024;
    let full = |n: usize| format!("  {n:020}: \"{}\"\n", "\\u00e9".repeat(5));
    let anchored = format!(
        "{spec}  a: &a \"{}\"\n{}",
        "x".repeat(size - 4096),
        "  b: *a\n".repeat(200)
    );
    let nested = format!("{spec}  a: &a [{}1]\n", "1,".repeat(2000));
    vec![
        object_or_refusal(
            "YAML, 256 KiB of fields",
            lines(24_000, &|n| format!("  {n:05}: 1\n")),
        ),
        object_or_refusal(
            "YAML, as many fields as an object may have",
            lines(most_fields(), &full),
        ),
        object_or_refusal(
            "YAML, 256 KiB of flow",
            format!("{spec}  a: [{}1]\n", "1,".repeat(size / 2)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of flow in flow",
            format!("{spec}  a: [{}1]\n", "[],".repeat(size / 3)),
        ),
        object_or_refusal("YAML, 256 KiB of depth", {
            let deep = |n: usize| format!("  {n}: {}{}\n", "[".repeat(28), "]".repeat(28));
            lines(3_800, &deep)
        }),
        object_or_refusal(
            "YAML, 256 KiB of text",
            format!("{spec}  csr: {}\n", "QUFB".repeat(size / 4)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of quoted text",
            format!("{spec}  csr: \"{}\"\n", "\\x41".repeat(size / 4)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of lines of text",
            format!("{spec}  csr: |\n{}", "   A\n".repeat(size / 5)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of folded lines",
            format!("{spec}  csr:\n{}", "   A\n".repeat(size / 5)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of comments",
            format!("{spec}{}", "#\n".repeat(size / 2)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of blank lines",
            format!("{spec}{}", "\n".repeat(size)),
        ),
        object_or_refusal("YAML, aliases of a long text", anchored),
        object_or_refusal(
            "YAML, aliases of a long list",
            format!("{nested}{}", "  b: *a\n".repeat(200)),
        ),
        stream(
            "stream, 16 MiB of YAML documents",
            "---\na\n".repeat((16 << 20) / 6),
        ),
    ]
}

/// Checks that the text contains one object, or that the whole text is refused.
#[cfg(feature = "yaml")]
fn object_or_refusal(name: &'static str, text: String) -> Stage {
    Stage::new(name, move || {
        let read = manifest::read(text.as_bytes(), &Limits::default());
        assert_eq!(black_box(read).map_or(1, |objects| objects.len()), 1);
    })
}

const TENANT: &str = r#"{"apiVersion":"authentication.liqo.io/v1beta1","kind":"Tenant","spec":{"#;
