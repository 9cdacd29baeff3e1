//! How a family of faults is written: what is said, under which code, by which
//! rule and with which advice, all at the variant.

use super::Rule;

/// What is known about a fault besides its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// The stable name of the variant.
    pub(super) code: &'static str,
    /// The rule that is broken.
    pub(super) rule: Basis,
    /// One sentence that a person can act on.
    pub(super) advice: &'static str,
}

/// Why a fault is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// The fault breaks a rule.
    Broken(Rule),
    /// The fault breaks none of the rules. The text says why the fault is one.
    Besides(&'static str),
}

/// Defines a family of faults.
///
/// Each variant is followed by its facts. `#[error]` is the text, as `thiserror`
/// reads it:
///
/// ```text
/// /// The nonce has expired.
/// #[error("the nonce expired at {at}")]
/// NonceExpired {
///     /// When the nonce expired.
///     at: Timestamp,
/// } => {
///     code: "nonce-expired",
///     rule: Broken(Rule::Nonce),
///     advice: "…",
/// },
/// ```
///
/// Where rule or advice depend on what a variant holds, the variant names its
/// content with `as`, and a `match` on that name gives both:
///
/// ```text
/// Csr(CsrError) as error => {
///     code: "csr-refused",
///     match error {
///         CsrError::Key { .. } => { rule: Broken(Rule::RequestSignature), advice: "…" }
///         _ => { rule: Broken(Rule::RequestContent), advice: "…" }
///     }
/// },
/// ```
macro_rules! family {
    (
        $(#[$about:meta])*
        pub enum $family:ident {
            $(
                $(#[$meta:meta])*
                $variant:ident
                $(($inner:ty) $(as $content:ident)?)?
                $({ $($field:tt)* })?
                => { code: $code:literal, $($facts:tt)+ }
            ),+ $(,)?
        }
    ) => {
        $(#[$about])*
        pub enum $family {
            $($(#[$meta])* $variant $(($inner))? $({ $($field)* })?,)+
        }

        impl $family {
            pub(super) fn facts(&self) -> Facts {
                match self {
                    $(Self::$variant { $($(0: $content,)?)? .. } => {
                        facts!($code, $($facts)+)
                    })+
                }
            }

            /// The facts of every variant: several where they depend on what
            /// the variant holds.
            #[cfg(test)]
            pub(super) const ALL: &[&[Facts]] = &[$(every_fact!($code, $($facts)+)),+];
        }
    };
}

/// The facts of one value.
macro_rules! facts {
    ($code:literal, rule: $rule:expr, advice: $advice:expr $(,)?) => {
        Facts {
            code: $code,
            rule: $rule,
            advice: $advice,
        }
    };
    ($code:literal, match $content:ident { $(
        $pattern:pat => { rule: $rule:expr, advice: $advice:expr $(,)? }
    )+ } $(,)?) => {
        match $content {
            $($pattern => facts!($code, rule: $rule, advice: $advice),)+
        }
    };
}

/// All facts that a variant may have.
#[cfg(test)]
macro_rules! every_fact {
    ($code:literal, rule: $rule:expr, advice: $advice:expr $(,)?) => {
        &[facts!($code, rule: $rule, advice: $advice)]
    };
    ($code:literal, match $content:ident { $(
        $pattern:pat => { rule: $rule:expr, advice: $advice:expr $(,)? }
    )+ } $(,)?) => {
        &[$(facts!($code, rule: $rule, advice: $advice)),+]
    };
}

#[cfg(test)]
pub(super) use every_fact;
pub(super) use {facts, family};
