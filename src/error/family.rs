//! The macro that defines a family of faults: each variant with its text, code,
//! rule and advice.

use super::Rule;

/// The facts about a fault, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// The stable name of the variant.
    pub(super) code: &'static str,
    /// The rule that is broken.
    pub(super) rule: Basis,
    /// One sentence that a person can act on.
    pub(super) advice: &'static str,
}

/// Which rule a fault breaks, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// The fault breaks a rule.
    Broken(Rule),
    /// The fault breaks none of the rules. The text says why.
    NoRule(&'static str),
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
/// If the rule or the advice depends on the variant's content, the variant names
/// its content with `as`, and a `match` on that name gives the rule and the advice:
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

            /// The facts of every variant: several if they depend on the
            /// variant's content.
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
