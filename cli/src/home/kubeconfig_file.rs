//! The kubeconfig files of a person. They are read within bounds, and no error quotes them.

use std::{
    env, fs,
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
    for named in files(&mut kubeconfig) {
        check_bounds(path, Path::new(named))?;
    }
    Ok(kubeconfig)
}

/// Refuses a file that has no end, or too many bytes. One that is missing may not be needed.
fn check_bounds(kubeconfig: &Path, file: &Path) -> Result<()> {
    let (shown, most) = (input::name(file), input::most_bytes());
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => {
            Err(unusable(kubeconfig, &format!("{shown} is no regular file")))
        }
        Ok(found) if usize::try_from(found.len()).map_or(true, |bytes| bytes > most) => {
            let problem = format!("{shown} has more than {most} bytes");
            Err(unusable(kubeconfig, &problem))
        }
        _ => Ok(()),
    }
}

/// Relative paths in a kubeconfig begin at its folder. A command without a `/` is searched for in
/// `PATH`.
fn begin_at(folder: &Path, kubeconfig: &mut Kubeconfig) {
    let absolute = |path: &mut String| {
        if let Some(joined) = folder.join(&*path).to_str() {
            *path = joined.to_owned();
        }
    };
    files(kubeconfig).for_each(absolute);
    let users = kubeconfig.auth_infos.iter_mut();
    let users = users.filter_map(|named| named.auth_info.as_mut());
    let programs = users.filter_map(|user| user.exec.as_mut()?.command.as_mut());
    programs.filter(|it| it.contains('/')).for_each(absolute);
}

/// The paths of the files that a kubeconfig names.
fn files(kubeconfig: &mut Kubeconfig) -> impl Iterator<Item = &mut String> {
    let clusters = kubeconfig.clusters.iter_mut();
    let clusters = clusters.filter_map(|named| named.cluster.as_mut());
    let cas = clusters.filter_map(|cluster| cluster.certificate_authority.as_mut());
    let users = kubeconfig.auth_infos.iter_mut();
    let users = users.filter_map(|named| named.auth_info.as_mut());
    let of_users = users.flat_map(|user| {
        let files = [
            &mut user.client_certificate,
            &mut user.client_key,
            &mut user.token_file,
        ];
        files.into_iter().flatten()
    });
    cas.chain(of_users)
}

fn unusable(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    let shown = input::name(path);
    Failure::usage(format!("the kubeconfig {shown} cannot be used: {problem}"))
}
