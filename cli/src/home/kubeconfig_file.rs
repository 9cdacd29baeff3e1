//! The kubeconfig files of a person. They are read within bounds, and no error quotes them.

use std::{
    env,
    path::{Path, PathBuf},
};

use kube::config::{Kubeconfig, KubeconfigError};

use crate::{
    failure::{Failure, Result},
    input,
};

/// The named file; else the files in `KUBECONFIG`, merged; else `~/.kube/config`.
pub(super) fn read(named: Option<&Path>) -> Result<Kubeconfig> {
    let files = match named {
        Some(file) => vec![file.to_owned()],
        None => usual_files()?,
    };
    let mut merged = Kubeconfig::default();
    for file in files {
        let next = read_file(&file)?;
        merged = merged
            .merge(next)
            .map_err(|error| unusable(&file, &error))?;
    }
    Ok(merged)
}

fn usual_files() -> Result<Vec<PathBuf>> {
    let listed = env::var_os("KUBECONFIG").unwrap_or_default();
    let mut files: Vec<PathBuf> = env::split_paths(&listed).collect();
    files.retain(|file| !file.as_os_str().is_empty());
    if files.is_empty() {
        let home = env::home_dir().ok_or_else(|| {
            Failure::usage("there is no home folder, and so no ~/.kube/config: use --kubeconfig")
        })?;
        files.push(home.join(".kube/config"));
    }
    Ok(files)
}

fn read_file(path: &Path) -> Result<Kubeconfig> {
    let content = input::read(path)?;
    let text = std::str::from_utf8(&content).map_err(|error| {
        let place = format!("the byte {} is no UTF-8", error.valid_up_to());
        unusable(path, &place)
    })?;
    let mut kubeconfig = Kubeconfig::from_yaml(text).map_err(|error| match &error {
        // The error quotes the lines around it, and so keys and tokens.
        KubeconfigError::Parse(yaml) => {
            let place = yaml.location().map_or_else(String::new, |at| {
                format!(", at line {}, column {}", at.line(), at.column())
            });
            unusable(path, &format!("it is not the YAML of a kubeconfig{place}"))
        }
        other => unusable(path, other),
    })?;
    if let Some(folder) = path.parent() {
        begin_at(folder, &mut kubeconfig);
    }
    Ok(kubeconfig)
}

/// Relative paths in a kubeconfig begin at its folder. A command without a `/` is searched for in
/// `PATH`.
fn begin_at(folder: &Path, kubeconfig: &mut Kubeconfig) {
    let clusters = kubeconfig.clusters.iter_mut();
    let clusters = clusters.filter_map(|named| named.cluster.as_mut());
    let cas = clusters.map(|cluster| &mut cluster.certificate_authority);
    let users = kubeconfig.auth_infos.iter_mut();
    let users = users.filter_map(|named| named.auth_info.as_mut());
    let files = users.flat_map(|user| {
        let exec = user.exec.as_mut().map(|exec| &mut exec.command);
        let exec = exec.filter(|command| command.as_ref().is_some_and(|it| it.contains('/')));
        let files = [
            &mut user.client_certificate,
            &mut user.client_key,
            &mut user.token_file,
        ];
        files.into_iter().chain(exec)
    });
    for path in cas.chain(files).flatten() {
        if let Some(joined) = folder.join(&*path).to_str() {
            *path = joined.to_owned();
        }
    }
}

fn unusable(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    let shown = input::name(path);
    Failure::usage(format!("the kubeconfig {shown} cannot be used: {problem}"))
}
