//! The name of this program in hints.

use std::{
    env,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// The name of the file that makes this program a plug-in of kubectl.
const PLUGIN: &str = "kubectl-liqo_auth";

/// The command that calls this program, as the person has called it. So a hint works as
/// it is, also if the program is not installed.
pub(crate) fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        let called = env::args_os().next().map(PathBuf::from).unwrap_or_default();
        name(&called, |file| {
            let paths = env::var_os("PATH").unwrap_or_default();
            let mut found = env::split_paths(&paths).map(|folder| folder.join(file));
            let found = found.find(|path| path.is_file());
            found.is_some_and(|found| found.canonicalize().ok() == called.canonicalize().ok())
        })
    });
    &PROGRAM
}

fn name(called: &Path, is_on_path: impl Fn(&str) -> bool) -> String {
    let file = called.file_name().map(|file| file.to_string_lossy());
    let file = file.unwrap_or("liqo-auth".into());
    if file == PLUGIN {
        return "kubectl liqo-auth".to_owned();
    }
    let is_bare = called
        .parent()
        .is_none_or(|folder| folder.as_os_str().is_empty());
    match is_bare || is_on_path(&file) {
        true => file.into_owned(),
        false => called.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_named_as_it_was_called() {
        for (called, on_path, named) in [
            ("liqo-auth", false, "liqo-auth"),
            (
                "target/release/liqo-auth",
                false,
                "target/release/liqo-auth",
            ),
            ("/usr/bin/liqo-auth", true, "liqo-auth"),
            ("/usr/bin/kubectl-liqo_auth", true, "kubectl liqo-auth"),
        ] {
            assert_eq!(name(Path::new(called), |_| on_path), named);
        }
    }
}
