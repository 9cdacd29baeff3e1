//! Command lines are completed by the shells themselves, with the names in a home.

use std::{
    env,
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::tool::{Folder, Run};

/// Command lines, and what has to be among their completions.
const LINES: [(&str, &str); 11] = [
    ("liqo-auth activ", "activate"),
    (
        "liqo-auth activate tn --home cl-provider cl-",
        "cl-consumer",
    ),
    ("liqo-auth uncord", "uncordon"),
    ("liqo-auth uncordon res", "resourceslice"),
    (
        "liqo-auth cordon tenant --home cl-provider cl-",
        "cl-consumer",
    ),
    ("liqo-auth --home=cl-provider drain tenant ", "cl-consumer"),
    (
        "liqo-auth create nonce --home cl-provider --remote-cluster-id ",
        "cl-consumer",
    ),
    ("liqo-auth cordon rs --home cl-provider my", "mypool"),
    (
        "liqo-auth get kubeconfig --home cl-consumer con",
        "controlplane-cl-provider",
    ),
    ("liqo-auth status --home cl-c", "cl-consumer/"),
    ("liqo-auth status --fail-if-e", "--fail-if-expiring"),
];

fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    folder
}

/// Runs a script of a shell, with the tool on its path. None without the shell, which
/// only a person's machine may lack.
fn shell(folder: &Folder, shell: &str, script: &str, line: &str) -> Option<Run> {
    let tool = Path::new(env!("CARGO_BIN_EXE_liqo-auth"));
    let paths = env::var("PATH").unwrap();
    let path = format!("{}:{paths}", tool.parent().unwrap().display());
    let name = format!("completion.{shell}");
    folder.write(&name, script);
    let mut command = Command::new(shell);
    if shell == "zsh" {
        command.arg("-f");
    }
    let output = command
        .args([name.as_str(), line])
        .current_dir(folder.path(""))
        .env("PATH", path)
        .env("HOME", folder.path(""))
        .env_remove("LIQO_AUTH_HOME")
        .output();
    if output.is_err() && env::var_os("CI").is_none() {
        return None;
    }
    let run = Run::of(output.unwrap());
    assert_eq!(run.code, 0, "{shell}: {line}: {run:?}");
    Some(run)
}

/// Somebody who presses TAB does not wait for another command.
#[test]
fn a_home_that_is_being_written_has_no_names_for_now() {
    let folder = with_peering();
    let line = "liqo-auth cordon tenant --home cl-provider cl-";
    let mut writer = Command::new("flock")
        .args(["cl-provider/lock", "sh", "-c", "touch held; sleep 600"])
        .current_dir(folder.path(""))
        .process_group(0)
        .spawn()
        .unwrap();
    while !folder.path("held").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let began = Instant::now();
    let run = shell(&folder, "bash", BASH, line).unwrap();
    let took = began.elapsed();
    let group = format!("-{}", writer.id());
    Command::new("kill").args(["--", &group]).status().unwrap();
    writer.wait().unwrap();
    assert!(took < Duration::from_secs(180), "{took:?}");
    assert_eq!(run.out.trim(), "");
    let run = shell(&folder, "bash", BASH, line).unwrap();
    assert_eq!(run.out.trim(), "cl-consumer");
}

const BASH: &str = r#"
source <(liqo-auth completion bash)
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
read -ra COMP_WORDS <<< "$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p liqo-auth | sed 's/.*-F \([^ ]*\).*/\1/')
$function liqo-auth "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
"#;

#[test]
fn bash_completes() {
    let folder = with_peering();
    for (line, expected) in LINES {
        let run = shell(&folder, "bash", BASH, line).unwrap();
        let found: Vec<&str> = run.out.lines().map(str::trim_end).collect();
        assert!(found.contains(&expected), "{line}: {run:?}");
    }
}

#[test]
fn fish_completes() {
    let folder = with_peering();
    let script = "source (liqo-auth completion fish | psub)\ncomplete -C $argv[1]\n";
    for (line, expected) in LINES {
        let Some(run) = shell(&folder, "fish", script, line) else {
            return;
        };
        let found = run.out.lines().map(|line| line.split('\t').next().unwrap());
        assert!(
            found.into_iter().any(|word| word == expected),
            "{line}: {run:?}"
        );
    }
}

/// An interactive zsh, in which the key for a completion is pressed. So only lines with
/// one completion are complete afterwards.
#[test]
fn zsh_completes() {
    let folder = with_peering();
    let script = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT= RPROMPT=; unsetopt zle_bracketed_paste 2>/dev/null; autoload -U compinit; compinit -u -D; source <(liqo-auth completion zsh); bindkey "^I" complete-word; print REA""DY'
zpty -r shell line '*READY*'
zpty -w -n shell "$1"$'\t'
sleep 1
zpty -w -n shell $'\C-a: \C-e #END\n'
zpty -w shell 'print FIN""ISHED'
zpty -r shell line '*FINISHED*'
print -r -- "$line"
"#;
    for (line, expected) in LINES {
        let is_unique = !line.ends_with(' ') || line.ends_with("-id ");
        if !is_unique {
            continue;
        }
        let Some(run) = shell(&folder, "zsh", script, line) else {
            return;
        };
        let (before, _) = line.rsplit_once(' ').unwrap();
        let whole = format!("{before} {expected}");
        assert!(run.out.contains(&whole), "{line}: {run:?}");
    }
}
