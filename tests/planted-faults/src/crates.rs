//! The crates in which faults are planted, and the tests of each.

/// A crate, or its tests. None depends on those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Crate {
    Library,
    /// What the tool says of files.
    Inspection,
    /// The templates of the tool.
    Jsonpath,
    /// The controllers' driver.
    Kube,
    /// The tool.
    Cli,
}

impl Crate {
    pub(crate) const ALL: [Self; 5] = [
        Self::Library,
        Self::Inspection,
        Self::Jsonpath,
        Self::Kube,
        Self::Cli,
    ];

    /// The crate of a source file, which is named from the project's root on.
    pub(crate) fn of(file: &str) -> Self {
        let has_file = |of: &Self| file.starts_with(&format!("{}/", of.sources()));
        let mut all = Self::ALL.into_iter();
        all.find(has_file).unwrap_or(Self::Library)
    }

    /// The folder of the sources.
    pub(crate) fn sources(self) -> &'static str {
        match self {
            Self::Library => "src",
            Self::Inspection => "inspection/src",
            Self::Jsonpath => "jsonpath/src",
            Self::Kube => "kube/src",
            Self::Cli => "cli/src",
        }
    }

    /// The file that gets the module of the planted faults.
    pub(crate) fn root(self) -> &'static str {
        match self {
            Self::Library => "src/lib.rs",
            Self::Inspection => "inspection/src/lib.rs",
            Self::Jsonpath => "jsonpath/src/lib.rs",
            Self::Kube => "kube/src/lib.rs",
            Self::Cli => "cli/src/main.rs",
        }
    }

    /// The folders of the packages with its tests.
    pub(crate) fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Library => &[".", "tests"],
            Self::Inspection => &["inspection"],
            Self::Jsonpath => &["jsonpath"],
            Self::Kube => &["kube"],
            Self::Cli => &["cli"],
        }
    }

    /// What names the crate alone to Cargo.
    pub(crate) fn target(self) -> &'static [&'static str] {
        match self {
            Self::Library => &["--package=liqo-auth", "--lib"],
            Self::Inspection => &["--package=liqo-auth-inspection", "--lib"],
            Self::Jsonpath => &["--package=liqo-auth-jsonpath", "--lib"],
            // Its tests enable a version of Kubernetes, and the crate itself none.
            Self::Kube => &[
                "--package=liqo-auth-kube",
                "--lib",
                "--features=k8s-openapi/earliest",
            ],
            Self::Cli => &["--package=liqo-auth-cli", "--bins"],
        }
    }

    /// What names its tests to Cargo.
    pub(crate) fn tests(self) -> &'static [&'static str] {
        match self {
            Self::Library => &[
                "--package=liqo-auth",
                "--package=liqo-auth-tests",
                "--lib",
                "--test=it",
                "--test=corpus",
            ],
            Self::Inspection => &["--package=liqo-auth-inspection", "--lib"],
            Self::Jsonpath => &["--package=liqo-auth-jsonpath", "--test=it"],
            Self::Kube => &["--package=liqo-auth-kube", "--lib", "--test=it"],
            // A test program of the tool starts the tool, which Cargo builds with it.
            Self::Cli => &["--package=liqo-auth-cli", "--bins", "--test=it"],
        }
    }

    /// The crates whose tests have to catch a fault in this one. The tool runs much of the
    /// driver.
    pub(crate) fn tested_by(self) -> &'static [Self] {
        match self {
            Self::Library => &[Self::Library],
            // The tool prints what it says.
            Self::Inspection => &[Self::Inspection, Self::Cli],
            Self::Jsonpath => &[Self::Jsonpath],
            Self::Kube => &[Self::Kube, Self::Cli],
            Self::Cli => &[Self::Cli],
        }
    }
}
