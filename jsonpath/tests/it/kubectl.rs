//! The templates' results beside those of the kubectl that is installed.

use std::{fs, process::Command};

use liqo_auth_jsonpath::Template;
use serde_json::Value;

const DOCUMENT: &str = r#"{"apiVersion": "example.org/v1", "kind": "Sample",
    "metadata": {"name": "rome", "labels": {"liqo.io/x": "y"}},
    "spec": {"n": 3, "f": 1.5, "small": 0.00001, "large": 1e21, "yes": true, "nothing": null,
        "none": {}, "empty": [], "text": "a<b>&c \u2028\u00e9", "no": "", "one": {"two": {"a": "z"}},
        "list": [{"a": "b", "n": 1}, {"a": "c", "n": 2, "t": [1, 2]}, {"a": "it's", "n": 3, "f": 1.5}],
        "lists": [[1, 2], [3]], "ports": ["http", "https", "dns", "ssh"]}}"#;

/// Each template gives the same output, or fails in both.
const SAME: &[&str] = &[
    "plain text",
    "{.metadata.name}",
    "{$.metadata.name}",
    "{@.metadata.name}",
    "{metadata.name}",
    "name: {.metadata.name}\n",
    r#"{.metadata.name}{"\t"}{.kind}{"\n"}"#,
    r"{'\n'}{'it\'s'}{'\u00e9\x41\101'}",
    r#"{"unclosed}"#,
    r#"{"wrong \q"}"#,
    r#"{"a}b"}"#,
    "{.metadata}",
    "{.spec.one}{.spec.none}{.spec.empty}{.spec.no}|",
    "{.spec.n} {.spec.f} {.spec.small} {.spec.large} {.spec.yes} {.spec.nothing}",
    "{.spec.text}{.spec.lists}",
    "{.spec['text']}",
    "{.spec['one.two']}",
    "{['metadata'].name}",
    r"{.metadata.labels.liqo\.io/x}",
    r"{.metadata.labels['liqo\.io/x']}",
    "{.metadata.labels['liqo.io/x']}|",
    "{.metadata['name','labels']}",
    "{.missing}|{.missing.more}|{.spec.n.more}|",
    "{.spec.missing[0]}|{.spec.nothing[0]}|",
    "{.spec.list[0].a}",
    "{.spec.list[-1].a}",
    "{.spec.list[-3].a}",
    "{.spec.list[3].a}",
    "{.spec.list[-4].a}",
    "{.spec.ports[1:3]}",
    "{.spec.ports[:2]}",
    "{.spec.ports[2:]}",
    "{.spec.ports[-2:]}",
    "{.spec.ports[:-1]}",
    "{.spec.ports[0:4:2]}",
    "{.spec.ports[::3]}",
    "{.spec.ports[0:4:0]}",
    "{.spec.ports[0:4:-1]}",
    "{.spec.ports[3:1]}",
    "{.spec.ports[2:2]}|",
    "{.spec.ports[0:9]}",
    "{.spec.ports[1:2:3:4]}",
    "{.spec.ports[x]}",
    "{.spec.ports[99999999999999999999]}",
    "{.spec.ports[0,2]}",
    "{.spec.ports[0, -1]}",
    "{.spec.ports[*]}",
    "{.spec.empty[*]}|{.spec.empty[0]}",
    "{.spec.lists[*][0]}",
    "{.spec.lists[*][*]}",
    "{.spec.text[0]}",
    "{.spec.ports.*}",
    "{.metadata.name.*}",
    "{.spec.n.*}|",
    "{.metadata.labels.*}",
    "{.spec.list[*].a}",
    "{.spec.list[*]['a','n']}",
    "{..two}",
    "{.spec.one..a}",
    "{.spec.lists..}",
    "{..nowhere}|",
    "{....a}",
    r#"{.spec.list[?(@.a=="b")].n}"#,
    r#"{.spec.list[?(@.a=='b')].n}"#,
    r#"{.spec.list[?(@.a == "b")].n}"#,
    r#"{.spec.list[?(@.a!="b")].n}"#,
    r#"{.spec.list[?(@.a<"c")].n}"#,
    r#"{.spec.list[?("c"==@.a)].n}"#,
    r#"{.spec.list[?(@.a=="a)b")].n}|"#,
    "{.spec.list[?(@.n>1)].a}",
    "{.spec.list[?(@.n>=2)].a}",
    "{.spec.list[?(@.n<=2)].a}",
    "{.spec.list[?(@.n<2)].a}",
    "{.spec.list[?(@.n==2)].a}",
    "{.spec.list[?(@.n==2.0)].a}",
    "{.spec.list[?(@.f==1.5)].a}",
    "{.spec.list[?(@.f>+1.25)].a}",
    "{.spec.list[?(@.n==-1)].a}|",
    r#"{.spec.list[?(@.n=="2")].a}"#,
    "{.spec.list[?(@.a==true)].a}",
    "{.spec.list[?(@.t)].a}",
    "{.spec.list[?(@.t[0])].a}",
    "{.spec.list[?(@.t[5])].a}",
    "{.spec.list[?(@.t[5]==1)].a}",
    "{.spec.list[?(@.t[*]==1)].a}",
    "{.spec.list[?(@.t==1)].a}",
    "{.spec.list[?(@.n=~2)].a}",
    "{.spec.list[?(@.n=<2)].a}",
    "{.spec.list[?(@.n==)].a}",
    "{.spec.list[?(==2)].a}",
    "{.spec.list[?(@.missing==1)].a}|",
    "{.spec.list[?(@.n==1].a}",
    "{.spec.list[?(@.n==1).a}",
    "{.spec.one[?(@.a==1)]}",
    "{.spec.ports[?(@==\"dns\")]}",
    "{.spec.lists[?(@[0]==3)]}",
    "{range .spec.list[*]}{.a}={.n};{end}",
    r#"{range .spec.list[*]}{.a}{"\t"}{.t[0]}{"\n"}{end}done"#,
    "{range .spec.lists[*]}[{range @[*]}{@},{end}]{end}",
    "{range .spec.empty[*]}{.a}{end}after {.kind}",
    "{range .spec.empty[*]}{range .x[*]}{.y}{end}{end}after {.kind}",
    "{range .spec.missing[*]}{.a}{end}after",
    "{range .spec.list[*]}{.a} without its end",
    "{range .spec.ports[*]}{@} {end}{range .spec.list[*]}{.n} {end}",
    "{range .spec.ports}{@}{end}",
    "{end}",
    "{range .spec.ports[*]}{end}{end}",
    "{unknown}",
    "{.spec.ports[0]",
    "{.spec.ports[0}",
    "{",
    "}",
    "{}",
    "{}{.kind}",
    "{.}|",
    "{@}",
    "{.spec.list[0]}{.spec.one}",
    "{+}",
    "{5} {-2} {1.50} {true}",
    "{1.2.3}",
    "{*}",
    "{.kind}{/}",
    "{.kind,.metadata}",
    "{.kind .metadata.name}",
    "{\t.kind}",
    "{.kind\n}",
    "{.metadata.\u{e9}t\u{e9}}|",
    "{\u{e9}}",
];

#[test]
fn a_template_gives_what_kubectl_prints() {
    let file = std::env::temp_dir().join(format!("liqo-auth-jsonpath-{}", std::process::id()));
    fs::write(&file, DOCUMENT).unwrap();
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let mut different = Vec::new();
    for (form, is_json) in [("jsonpath", false), ("jsonpath-as-json", true)] {
        for template in SAME {
            // kubectl changes nothing, and prints the object.
            let mut kubectl = Command::new("kubectl");
            kubectl.args(["patch", "--local", "--type=merge", "-p", "{}", "-f"]);
            kubectl
                .arg(&file)
                .args(["-o", &format!("{form}={template}")]);
            let output = kubectl.output().unwrap();
            let theirs = match output.status.success() {
                true => Ok(String::from_utf8(output.stdout).unwrap()),
                false => Err(String::from_utf8(output.stderr).unwrap()),
            };
            let ours = Template::parse(template).and_then(|parsed| match is_json {
                true => parsed.in_json().evaluate(&document),
                false => parsed.evaluate(&document),
            });
            let ours = ours.map_err(|error| error.to_string());
            let is_same = match (&ours, &theirs) {
                (Ok(ours), Ok(theirs)) => ours == theirs,
                (Err(ours), Err(theirs)) => {
                    // The words of a value in JSON are not Go's.
                    let cause = ours.strip_prefix(r#"{"two":{"a":"z"}} "#);
                    theirs.contains(cause.unwrap_or(ours))
                }
                _ => false,
            };
            if !is_same {
                different.push(format!(
                    "{template}\n  ours   {ours:?}\n  kubectl {theirs:?}"
                ));
            }
        }
    }
    fs::remove_file(&file).unwrap();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Nested ranges multiply the work, and each one needs a part of the stack.
#[test]
fn ranges_are_nested_up_to_a_depth() {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let nested = |depth: usize| {
        let template = format!(
            "{}{{.kind}}{}",
            "{range @}".repeat(depth),
            "{end}".repeat(depth)
        );
        Template::parse(&template).unwrap().evaluate(&document)
    };
    assert_eq!(nested(16).as_deref(), Ok("Sample"));
    for depth in [17, 8000] {
        assert_eq!(
            nested(depth).unwrap_err().to_string(),
            "at most 16 ranges may be nested"
        );
    }
}
