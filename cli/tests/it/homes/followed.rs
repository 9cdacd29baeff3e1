//! Whoever follows what `status`, `doctor` and a refused `authenticate` print comes back to a
//! peering, and knows nothing else.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::ways_out::{copied, with_peering};
use crate::tool::{Folder, Run};

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const HOMES: [&str; 2] = ["cl-consumer", "cl-provider"];

/// The commands in a text: after these words, or as the whole text.
fn commands_in(text: &str) -> Vec<String> {
    let after = text.split("The command is ").skip(1);
    let whole = text
        .split_once(' ')
        .filter(|(program, _)| program.ends_with("liqo-auth"));
    let whole = whole.map(|_| text).into_iter();
    let arguments = after.chain(whole).filter_map(|text| {
        let (_, arguments) = text.split_once("liqo-auth ")?;
        let end = arguments.find([',', '\n']).unwrap_or(arguments.len());
        let sentence = arguments[..end].split(". ").next()?;
        Some(sentence.trim_end_matches('.').to_owned())
    });
    // Help is for a person; the script knows where both homes are. A person at a terminal is asked.
    let arguments = arguments.filter(|it| !it.contains("--help"));
    let consented = |it: String| match it.starts_with("release") {
        true => format!("{it} --yes"),
        false => it,
    };
    arguments.map(consented).collect()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}"))
}

/// What `status` and `doctor` print for a home.
fn printed(folder: &Folder, home: &str, now: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let status = folder.run(&format!("status --home {home} -o json {now}"));
    if status.code == 0 {
        for peering in json(&status)["peerings"].as_array().unwrap() {
            for waits in peering["waitsFor"].as_array().into_iter().flatten() {
                let command = waits["command"].as_str().unwrap_or_default();
                commands.extend(commands_in(command));
            }
            for refused in peering["refused"].as_array().into_iter().flatten() {
                commands.extend(commands_in(refused["text"].as_str().unwrap()));
            }
        }
    }
    let doctor = folder.run(&format!("doctor --home {home} -o json {now}"));
    if doctor.out.is_empty() {
        return commands_in(&doctor.err);
    }
    for finding in json(&doctor)["findings"].as_array().unwrap() {
        commands.extend(commands_in(finding["remedy"].as_str().unwrap()));
    }
    commands
}

fn is_well(folder: &Folder, now: &str) -> bool {
    HOMES.iter().all(|home| {
        let doctor = folder.run(&format!("doctor --home {home} {now}"));
        let status = folder.run(&format!("status --home {home} -o json {now}"));
        doctor.code == 0 && status.out.contains(r#""phase": "Authenticated""#)
    })
}

/// Follows until the peering is well again. Panics if nothing that is printed leads there.
fn follow(folder: &Folder, state: &str, now: &str) {
    let writes = if now.is_empty() {
        ""
    } else {
        "--write-at-this-time"
    };
    let mut told = Vec::new();
    for _ in 0..4 {
        let mut commands: BTreeSet<String> = BTreeSet::new();
        for home in HOMES {
            commands.extend(printed(folder, home, now));
        }
        for command in commands {
            let run = folder.run(&format!("{command} {now} {writes}"));
            told.push(format!("{command}: {} {}", run.code, run.err));
        }
        // That is what the person wants.
        let run = folder.run(&format!("{AUTHENTICATE} {now} {writes}"));
        told.push(format!("authenticate: {} {}", run.code, run.err));
        if run.code == 0 && is_well(folder, now) {
            return;
        }
        for command in commands_in(&run.err.replace("Error: ", "")) {
            let run = folder.run(&format!("{command} {now} {writes}"));
            told.push(format!("{command}: {} {}", run.code, run.err));
            for command in commands_in(&run.out) {
                let run = folder.run(&format!("{command} {now} {writes}"));
                told.push(format!("{command}: {} {}", run.code, run.err));
            }
        }
    }
    panic!("{state}:\n{}", told.join("\n"));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

#[test]
fn any_lost_file_comes_back_or_is_named() {
    let whole = with_peering();
    for home in HOMES {
        for file in files(&whole.path(home)) {
            let state = file.strip_prefix(whole.path("")).unwrap();
            let state = state.display().to_string();
            let folder = Folder::new();
            for home in HOMES {
                copied(&whole.path(home), &folder.path(home));
            }
            fs::remove_file(folder.path(&state)).unwrap();
            // No command makes a key, the settings or an entry of the log again.
            let is_kept = ["/private/liqo/", "/home.yaml", "/audit."];
            if !is_kept.iter().any(|kept| state.contains(kept)) {
                follow(&folder, &state, "");
                continue;
            }
            let run = folder.run(&format!("doctor --home {home}"));
            assert_eq!(run.code, 4, "{state}: {run:?}");
            let named = ["from a backup: no command makes it again", "with a copy"];
            assert!(named.iter().any(|named| run.out.contains(named)), "{run:?}");
            assert_eq!(run.out.matches("Wrong").count(), 1, "{state}: {run:?}");
        }
    }
}

/// Brings a peering into a state.
type Prepare<'p> = &'p dyn Fn(&Folder);

#[test]
fn each_state_is_left_by_what_is_printed() {
    let provider = |command: &str| format!("{command} --home cl-provider");
    let lose = |folder: &Folder, home: &str, number: u8| {
        fs::remove_dir_all(folder.path(home)).unwrap();
        folder.ok(&format!(
            "init --home {home} --api-server https://172.19.0.{number}:6443"
        ));
    };
    let states: [(&str, Prepare<'_>); 10] = [
        ("a lost consumer", &|folder| lose(folder, "cl-consumer", 2)),
        ("a lost provider", &|folder| lose(folder, "cl-provider", 3)),
        ("a moved provider", &|folder| {
            folder.ok(&provider("set api-server https://172.19.0.4:6443"));
        }),
        ("an ended peering", &|folder| {
            folder.ok("unauthenticate --home cl-consumer --remote-home cl-provider --skip-confirm");
        }),
        ("a key released by the provider", &|folder| {
            folder.ok(&provider(
                "release --remote-cluster-id cl-consumer --skip-confirm",
            ));
        }),
        ("an endpoint released by the consumer", &|folder| {
            folder.ok("release --home cl-consumer --remote-cluster-id cl-provider --skip-confirm");
        }),
        ("an unused invitation", &|folder| {
            folder.ok("unauthenticate --home cl-consumer --remote-home cl-provider --skip-confirm");
            folder.ok(&provider("create nonce --remote-cluster-id cl-consumer"));
        }),
        ("a nonce that was replaced", &|folder| {
            folder.ok(&provider(
                "create nonce --remote-cluster-id cl-consumer --replace",
            ));
        }),
        ("a condition that the record holds", &|folder| {
            folder.ok(&provider("cordon tenant cl-consumer"));
            let tenant = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
            let text = folder.read(tenant);
            let milder = text.replace("tenantCondition: Cordoned", "tenantCondition: Active");
            assert_ne!(text, milder);
            folder.write(tenant, &milder);
        }),
        ("a rotated key", &|folder| {
            folder.ok("rotate key --home cl-consumer --remote-cluster-id cl-provider");
        }),
    ];
    for (state, prepare) in states {
        let folder = with_peering();
        prepare(&folder);
        follow(&folder, state, "");
    }
    follow(&with_peering(), "expired certificates", "--now +600d");
}

#[test]
fn a_request_that_waits_for_an_approval_names_the_command() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443 --require-approval");
    folder.run(AUTHENTICATE);
    follow(&folder, "a request that waits", "");
}
